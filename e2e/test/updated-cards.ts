import { type Api, type Constellation, waitUntil } from '@eligo/testkit';
import { expect, it } from 'vitest';
import { record, records, text } from '../src/records.ts';
import { make, newCard, newCustomer, type Shop } from '../src/shop.ts';

/** A card that its network replaces mends a subscription by itself: the processor's event goes through the gateway, checkout and billing. */
export function updatedCardTests(stack: () => { eligo: Constellation; api: Api; shop: Shop }): void {
  it('charges a past-due subscription when the processor has updated its card, and shows the new card [D14.234]', async () => {
    const { eligo, api, shop } = stack();
    const customer = await newCustomer(api);
    const card = await newCard(api, customer, 'insufficient_funds');
    const price = await make(api, '/v1/prices', 'price', {
      ...{ product: shop.eligibleProductId, unit_amount: 1_900, recurring: { interval: 'month' } },
    });
    const subscription = text(
      await make(api, '/v1/subscriptions', 'subscription', {
        ...{ customer, trial_period_days: 14, default_payment_method: card },
        items: [{ price: text(price, 'price_id'), quantity: 1 }],
      }),
      'subscription_id',
    );
    const read = async () => record(await api.ok('GET', `/v1/subscriptions/${subscription}`), 'subscription');
    await api.ok('PATCH', `/v1/subscriptions/${subscription}`, { body: { subscription: { trial_end: 'now' } } });
    expect((await read()).status).toBe('past_due');
    const [row] = await eligo.database.admin<{ id: string }>(
      'select processor_payment_method_id as id from checkout.payment_methods where id = $1',
      [card],
    );
    await eligo.sandbox('POST', `/sandbox/cards/${row?.id}/update`, { card: 'mastercard' });
    const isActive = async () => (await read()).status === 'active';
    await waitUntil(isActive, { withinMs: 20_000, what: 'the charge of the updated card' });
    const [invoice] = records(await api.ok('GET', `/v1/invoices?customer=${customer}`), 'invoices');
    expect(invoice).toMatchObject({ status: 'paid', total: 1_900 });
    const method = record(await api.ok('GET', `/v1/payment_methods/${card}`), 'payment_method');
    expect(method.card).toMatchObject({ brand: 'mastercard', last4: '4444' });
  });
}
