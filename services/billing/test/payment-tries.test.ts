import type { Scope } from '@eligo/postgres';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { payInvoiceOnPage } from '../src/actions/pay-invoice-on-page.ts';
import { loadInvoiceCharges } from '../src/store/invoice-charges.ts';
import { callOf, type Fixture, openFixture, sell, someScope, start } from './fixture.ts';
import { callsOn, may } from './subscription-calls.ts';

let on: Fixture;
let scope: Scope;

beforeAll(async () => {
  on = await openFixture();
});
afterAll(() => on.close());
beforeEach(() => {
  on.at(start);
  scope = someScope();
});

const { runAt, read, update, pay, pastDue, givenUp } = callsOn(
  () => on,
  () => scope,
);

const exceeded = { status: 409, code: 'invoice_payment_tries_exceeded' };
const payOnPage = (
  id: string,
  behavior: 'pays' | 'insufficient_funds' = 'pays',
  slot: 'health' | 'other' = 'health',
) => {
  const cards = [{ processorPaymentMethodId: on.peers.typed(behavior), slot }];
  return payInvoiceOnPage(on.context, callOf(scope), id, cards);
};
const chargesOf = (id: string) => loadInvoiceCharges(on.database, scope, id);

/** Asks until it is refused as once too often; answers how often it was not. */
async function triesOf(ask: () => Promise<unknown>): Promise<number> {
  for (let tries = 0; tries < 100; tries += 1) {
    const code = await ask().then(
      () => 'none',
      (error: { code: string }) => error.code,
    );
    if (code === exceeded.code) return tries;
  }
  throw new Error('Never refused');
}

describe('the tries of one invoice', () => {
  it('by API are sixty with those of the schedule, which goes on, and the page takes cards as ever [D14.298]', async () => {
    const { subscriptionId: id, invoiceId, customerId, card } = await pastDue();
    const other = on.peers.cardOf(customerId, true, 'insufficient_funds');
    expect(await triesOf(() => pay(invoiceId, other))).toBe(59);
    expect(await chargesOf(invoiceId)).toHaveLength(60);
    const { subscription } = await read(id);
    expect(subscription).toMatchObject({ status: 'past_due', paymentAt: new Date('2026-05-02T00:00:00.000Z') });
    await expect(pay(invoiceId)).rejects.toMatchObject(exceeded);
    await expect(update(id, { defaultPaymentMethodId: other })).rejects.toMatchObject(exceeded);
    expect(await read(id)).toMatchObject({
      ...{ subscription: { defaultPaymentMethodId: card }, invoice: { attempts: 60 } },
    });
    await runAt('2026-05-02T00:00:00.000Z');
    expect((await chargesOf(invoiceId)).at(-1)).toMatchObject({ paymentMethodId: card, status: 'declined' });
    expect((await read(id)).subscription.paymentAt).toEqual(new Date('2026-05-04T00:00:00.000Z'));
    await payOnPage(invoiceId);
    expect(await read(id)).toMatchObject({ subscription: { status: 'active' }, invoice: { status: 'paid' } });
  });

  it('by other cards of the subscription count, too [D14.298]', async () => {
    const { subscriptionId: id, invoiceId, customerId } = await pastDue();
    const card = () => on.peers.cardOf(customerId, true, 'insufficient_funds');
    expect(await triesOf(() => update(id, { defaultPaymentMethodId: card() }))).toBe(59);
    await expect(pay(invoiceId)).rejects.toMatchObject(exceeded);
    expect(await update(id, { metadata: { plan: 'gold' } })).toMatchObject({ metadata: { plan: 'gold' } });
  });

  it('for which there was no card count, too, and do not keep the customer from the page [D14.298]', async () => {
    const { subscriptionId: id, invoiceId } = await pastDue();
    await update(id, { defaultPaymentMethodId: null });
    expect(await triesOf(() => pay(invoiceId))).toBe(59);
    expect(await chargesOf(invoiceId)).toHaveLength(1);
    await payOnPage(invoiceId);
    expect((await read(id)).invoice).toMatchObject({ status: 'paid', attempts: 60 });
  });

  it('on the page are sixty, and those by API go on [D14.231, D14.298]', async () => {
    const { invoiceId, customerId } = await pastDue();
    expect(await triesOf(() => payOnPage(invoiceId, 'insufficient_funds'))).toBe(60);
    expect(await chargesOf(invoiceId)).toHaveLength(61);
    expect(await pay(invoiceId, on.peers.cardOf(customerId, true))).toMatchObject({ status: 'paid' });
  });

  it('on the page are two hundred in all where no typed card could be charged [D14.298]', async () => {
    const { invoiceId } = await pastDue();
    const attempts = (count: number) =>
      on.test.admin('update billing.invoices set attempts = $2 where id = $1', [invoiceId, count]);
    await attempts(200);
    await expect(payOnPage(invoiceId)).rejects.toMatchObject(exceeded);
    await attempts(199);
    await payOnPage(invoiceId);
    expect(on.peers.takenOf(invoiceId)).toBe(3_000);
  });

  it('on the page without a charge do not count as the partner’s [D14.298]', async () => {
    const {
      subscriptionId: id,
      invoiceId,
      customerId,
    } = await sell(on, scope, {
      ...{ card: on.peers.card(false, 'insufficient_funds'), items: [{ eligibility: 'not_eligible' }] },
    }).then(async (sold) => {
      await runAt(may);
      return { ...sold, invoiceId: (await read(sold.subscriptionId)).invoice.id };
    });
    for (let tries = 0; tries < 60; tries += 1) await payOnPage(invoiceId);
    expect((await read(id)).invoice).toMatchObject({ status: 'open', attempts: 61, pageTriesWithoutCharge: 60 });
    expect(await chargesOf(invoiceId)).toHaveLength(1);
    const declined = on.peers.cardOf(customerId, false, 'insufficient_funds');
    expect(await triesOf(() => pay(invoiceId, declined))).toBe(59);
    await expect(update(id, { defaultPaymentMethodId: declined })).rejects.toMatchObject(exceeded);
    await payOnPage(invoiceId, 'pays', 'other');
    expect((await read(id)).invoice).toMatchObject({ status: 'paid' });
  });

  it('after the subscription has ended are bounded as well [D14.298]', async () => {
    const { invoiceId, customerId } = await givenUp();
    const card = on.peers.cardOf(customerId, true, 'insufficient_funds');
    expect(await triesOf(() => pay(invoiceId, card))).toBe(55);
  });
});
