import { type Api, type Constellation, waitUntil } from '@eligo/testkit';
import { expect, it } from 'vitest';
import { advanceClock } from '../src/advance-clock.ts';
import { type Json, record, records, text } from '../src/records.ts';
import { make, newCard, newCustomer, type Shop } from '../src/shop.ts';

interface Stack {
  readonly eligo: Constellation;
  readonly api: Api;
  readonly shop: Shop;
}

/** The documents of the invoices of a subscription: the one that was paid with its session, and a renewal on two cards after a change. */
export function invoiceDocumentTests(stack: () => Stack): void {
  async function documentOf(invoice: Json): Promise<string> {
    const path = `/v1/invoices/${text(invoice, 'invoice_id')}/document`;
    const [one, again] = [await stack().api.ok('GET', path), await stack().api.ok('GET', path)];
    expect(again).toEqual(one);
    const { html, pdf } = record(one, 'invoice_document');
    expect(Buffer.from(String(pdf), 'base64').toString('latin1')).toMatch(/^%PDF-1\./);
    return String(html);
  }

  it('documents each invoice of a subscription by API and by the token of its page [INV-7, D14.193]', async () => {
    const { api, shop } = stack();
    const clock = text(
      await make(api, '/v1/test_helpers/test_clocks', 'test_clock', { frozen_time: '2030-01-01T00:00:00Z' }),
      'test_clock_id',
    );
    const customer = await newCustomer(api, { test_clock: clock, first_name: 'Ada', last_name: 'Lovelace' });
    const towels = await make(api, '/v1/products', 'product', { name: 'Towels', hsa_fsa_eligibility: 'not_eligible' });
    const priceOf = async (product: string, unit_amount: number) =>
      text(
        await make(api, '/v1/prices', 'price', { product, unit_amount, recurring: { interval: 'month' } }),
        'price_id',
      );
    const [monitor, towel, expensiveTowel] = [
      await priceOf(shop.eligibleProductId, 1_900),
      await priceOf(text(towels, 'product_id'), 700),
      await priceOf(text(towels, 'product_id'), 1_400),
    ];
    const session = await make(api, '/v1/checkout/sessions', 'checkout_session', {
      ...{ mode: 'subscription', customer, success_url: 'https://shop.example/done' },
      line_items: [monitor, towel].map((price) => ({ price, quantity: 1 })),
    });
    const [hsa, credit] = [await newCard(api, customer, 'hsa'), await newCard(api, customer, 'credit')];
    const sold = record(
      await api.ok('POST', `/v1/test_helpers/checkout/sessions/${text(session, 'checkout_session_id')}/complete`, {
        body: { checkout_session: { payment_method: hsa, second_payment_method: credit } },
      }),
      'checkout_session',
    );
    const newest = async () => records(await api.ok('GET', `/v1/invoices?customer=${customer}`), 'invoices')[0] as Json;
    const first = await documentOf(await newest());
    for (const fact of ['Invoice from', 'Ada Lovelace', '1 × Towels', '$19.00', '$7.00', '$26.00', 'ending in 0072']) {
      expect(first).toContain(fact);
    }
    const advance = async (time: string) => expect((await advanceClock(api, clock, time)).status).toBe(200);
    await advance('2030-02-01T00:00:00Z');
    await advance('2030-02-15T00:00:00Z');
    await api.ok('PATCH', `/v1/subscriptions/${text(sold, 'subscription')}`, {
      body: { subscription: { items: [monitor, expensiveTowel].map((price) => ({ price, quantity: 1 })) } },
    });
    await advance('2030-03-01T00:00:00Z');
    const renewal = await newest();
    expect(renewal).toMatchObject({ status: 'paid', total: 3_650 });
    const refunded = await api.ok('POST', '/v1/refunds', {
      body: { refund: { payment_intent_id: renewal.payment_intent, amount: 300 } },
    });
    const refund = `/v1/refunds/${text(record(refunded, 'refund'), 'refund_id')}`;
    // While it is pending, the documents say so.
    await waitUntil(async () => record(await api.ok('GET', refund), 'refund').status === 'succeeded', {
      ...{ withinMs: 20_000, what: 'the refund' },
    });
    const html = await documentOf(renewal);
    for (const fact of [
      ...['1 × Blood pressure monitor', 'Eligible: medical item on the IIAS list', '1 × Towels', 'Not eligible'],
      ...['February 14, 2030 to February 28, 2030', '$7.00', 'Credit: Towels', '-$3.50', '$36.50'],
      ...['HSA/FSA card, Visa ending in 0072', 'Card, Visa ending in 4242', '$19.00', '$17.50', 'Refunds', '$3.00'],
    ]) {
      expect(html).toContain(fact);
    }
    const url = text(renewal, 'hosted_invoice_url');
    expect(await (await fetch(`${url}/document.html`)).text()).toBe(html);
    const pdf = await fetch(`${url}/document.pdf`);
    expect([pdf.status, pdf.headers.get('content-type')]).toEqual([200, 'application/pdf']);
    expect((await fetch(`${url}x/document.pdf`)).status).toBe(404);
  });
}
