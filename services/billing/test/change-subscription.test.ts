import type { Scope } from '@eligo/postgres';
import { armFailpoint, turnFailpointsOff, turnFailpointsOn } from '@eligo/service';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { pause, resume } from '../src/actions/pause-and-resume.ts';
import { loadInvoiceLines } from '../src/store/invoice-lines.ts';
import { everyStatusTests } from './every-status.ts';
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
afterEach(() => turnFailpointsOff());

const { runAt, read, eventsOf, invoicesOf, update, pastDue, unpaid } = callsOn(
  () => on,
  () => scope,
);

describe('an update of a subscription', () => {
  it('changes when it ends, its metadata and its cards, and tells of it [SUB-10]', async () => {
    const { subscriptionId: id, customerId } = await sell(on, scope);
    const cancelAt = new Date('2026-04-20T00:00:00.000Z');
    expect(await update(id, { cancelAt, metadata: { plan: 'gold' } })).toMatchObject({
      cancelAt,
      metadata: { plan: 'gold' },
    });
    expect((await eventsOf(id)).at(-1)).toBe('customer.subscription.updated');
    expect(await update(id, { cancelAt: null, cancelAtPeriodEnd: true })).toMatchObject({
      ...{ cancelAt: null, cancelAtPeriodEnd: true, metadata: { plan: 'gold' } },
    });
    const [card, backup] = [on.peers.cardOf(customerId, true), on.peers.cardOf(customerId, false)];
    await update(id, { cancelAtPeriodEnd: false, defaultPaymentMethodId: card, backupPaymentMethodId: backup });
    await runAt(may);
    expect(on.peers.taken.at(-1)).toMatchObject({ paymentMethodId: card, amountCents: 3_000 });
    expect((await read(id)).subscription.status).toBe('active');
  });

  it('ends it at a time of its own', async () => {
    const { subscriptionId: id } = await sell(on, scope);
    await update(id, { cancelAt: new Date('2026-04-20T00:00:00.000Z') });
    await runAt('2026-04-20T00:00:01.000Z');
    expect((await read(id)).subscription).toMatchObject({
      ...{ status: 'canceled', canceledAt: new Date('2026-04-20T00:00:00.000Z') },
    });
  });

  it('moves the end of a trial, or ends it now and charges the first period', async () => {
    const { subscriptionId: id } = await sell(on, scope, { trialDays: 14 });
    const later = new Date('2026-04-25T00:00:00.000Z');
    expect(await update(id, { trialEnd: later })).toMatchObject({
      ...{ trialEnd: later, currentPeriodEnd: later, noticeAt: new Date('2026-04-22T00:00:00.000Z') },
    });
    on.at('2026-04-10T00:00:00.000Z');
    expect(await update(id, { trialEnd: 'now' })).toMatchObject({
      status: 'active',
      anchor: new Date('2026-04-10T00:00:00.000Z'),
    });
    expect((await read(id)).invoice).toMatchObject({
      ...{ status: 'paid', totalCents: 3_000, periodEnd: new Date('2026-05-10T00:00:00.000Z') },
    });
  });

  it('takes a discount off from the next invoice on, in place of the one before', async () => {
    const first = on.peers.coupon({ percentOffBasisPoints: 1_000, duration: 'forever' });
    const second = on.peers.coupon({ percentOffBasisPoints: 5_000, duration: 'once' });
    const { subscriptionId: id } = await sell(on, scope);
    await update(id, { discount: { couponId: first, promoCode: null } });
    await update(id, { discount: { couponId: second, promoCode: null } });
    await runAt(may);
    expect((await read(id)).invoice.totalCents).toBe(1_500);
    await runAt('2026-06-01T00:00:00.000Z');
    expect((await read(id)).invoice.totalCents).toBe(3_000);
    await update(id, { discount: { couponId: first, promoCode: null } });
    await update(id, { clearsDiscounts: true });
    expect((await read(id)).subscription.discounts).toEqual([]);
  });

  it('changes nothing by a record that is sent back as it is, in any status', async () => {
    const { subscriptionId: id, card } = await pastDue();
    const { subscription } = await read(id);
    const asked = on.peers.asked;
    const { cancelAt, cancelAtPeriodEnd, metadata, prorationBehavior } = subscription;
    await expect(
      update(id, { cancelAt, cancelAtPeriodEnd, metadata, prorationBehavior: prorationBehavior ?? undefined }),
    ).resolves.toMatchObject({ status: 'past_due', paymentAt: subscription.paymentAt });
    on.peers.owns(card, subscription.customerId);
    await update(id, { defaultPaymentMethodId: card });
    expect(on.peers.asked).toBe(asked);
  });
});

describe('a new card', () => {
  it.each([
    ['past due', pastDue],
    ['unpaid', unpaid],
  ])('pays at once what a subscription that is %s owes [SUB-10, D14.116]', async (_status, make) => {
    const { subscriptionId: id, invoiceId, customerId } = await make();
    const card = on.peers.cardOf(customerId, true);
    expect(await update(id, { defaultPaymentMethodId: card })).toMatchObject({ status: 'active', paymentAt: null });
    expect((await read(id)).invoice).toMatchObject({ id: invoiceId, status: 'paid' });
    expect(on.peers.takenOf(invoiceId)).toBe(3_000);
    await runAt('2026-06-01T00:00:00.000Z');
    expect(await invoicesOf(id)).toHaveLength(3);
  });

  it('that is declined too leaves the next try where it was', async () => {
    const { subscriptionId: id, customerId } = await pastDue();
    const card = on.peers.cardOf(customerId, true, 'insufficient_funds');
    expect(await update(id, { defaultPaymentMethodId: card })).toMatchObject({
      ...{ status: 'past_due', paymentAt: new Date('2026-05-02T00:00:00.000Z') },
    });
    expect((await read(id)).invoice.attempts).toBe(2);
  });

  it('that is declined leaves an unpaid subscription unpaid', async () => {
    const { subscriptionId: id, customerId } = await unpaid();
    const card = on.peers.cardOf(customerId, true, 'insufficient_funds');
    expect(await update(id, { defaultPaymentMethodId: card })).toMatchObject({ status: 'unpaid', paymentAt: null });
  });

  it('waits while the outcome of a charge is unknown [D14.116]', async () => {
    const { subscriptionId: id, customerId, card: first } = await sell(on, scope);
    on.peers.failOn(first, 'lost_after');
    await runAt(may);
    await on.test.admin("update billing.subscriptions set status = 'past_due' where id = $1", [id]);
    const card = on.peers.cardOf(customerId, true);
    await expect(update(id, { defaultPaymentMethodId: card })).rejects.toMatchObject({ code: 'lock_timeout' });
  });
});

describe('a pause', () => {
  it('bills nothing until it is resumed with a new anchor, which a whole period begins at [SUB-11, SUB-12, D14.117]', async () => {
    const { subscriptionId: id } = await sell(on, scope);
    on.at('2026-04-16T00:00:00.000Z');
    expect(await pause(on.context, callOf(scope), id)).toMatchObject({ status: 'paused' });
    await runAt('2026-08-20T00:00:00.000Z');
    expect(await invoicesOf(id)).toHaveLength(1);
    expect(await resume(on.context, callOf(scope), id, false)).toMatchObject({
      ...{ status: 'active', currentPeriodEnd: new Date('2026-09-20T00:00:00.000Z') },
    });
    expect((await read(id)).invoice).toMatchObject({
      ...{ status: 'paid', totalCents: 3_000, billingReason: 'subscription_update' },
    });
    await runAt('2026-09-20T00:00:00.000Z');
    expect(await invoicesOf(id)).toHaveLength(3);
  });

  it('that is over within its period costs nothing if the anchor stays', async () => {
    const { subscriptionId: id } = await sell(on, scope);
    on.at('2026-04-10T00:00:00.000Z');
    await pause(on.context, callOf(scope), id);
    on.at('2026-04-20T00:00:00.000Z');
    expect(await resume(on.context, callOf(scope), id, true)).toMatchObject({ status: 'active' });
    await runAt(may);
    expect((await invoicesOf(id)).map(({ period_start }) => period_start.toISOString())).toEqual([
      start.toISOString(),
      may,
    ]);
  });

  it('that outlasts its period pays what is left of the present one if the anchor stays', async () => {
    const { subscriptionId: id } = await sell(on, scope, { items: [{ taxCents: 101, shippingCents: 31 }] });
    on.at('2026-04-16T00:00:00.000Z');
    await pause(on.context, callOf(scope), id);
    on.at('2026-06-16T00:00:00.000Z');
    expect(await resume(on.context, callOf(scope), id, true)).toMatchObject({
      ...{ status: 'active', currentPeriodEnd: new Date('2026-07-01T00:00:00.000Z') },
    });
    const { invoice } = await read(id);
    expect(invoice).toMatchObject({ status: 'paid', totalCents: 1_500 + 50 + 15, eligibleCents: 1_565 });
    expect(await loadInvoiceLines(on.database, scope, invoice.id)).toMatchObject([
      { quantity: 1, unitAmountCents: 1_500, taxCents: 50, shippingCents: 15 },
    ]);
    await runAt('2026-07-01T00:00:00.000Z');
    expect((await read(id)).invoice.totalCents).toBe(3_132);
  });

  it('within the period that it has paid for credits what is left of that where another one begins now [D14.117, D14.187, D14.339]', async () => {
    const resumed = async (refunded: number, prorationBehavior?: string) => {
      on.at(start);
      const { subscriptionId: id, sessionId } = await sell(on, scope);
      if (prorationBehavior !== undefined) await update(id, { prorationBehavior });
      await pause(on.context, callOf(scope), id);
      on.peers.refunded.set(sessionId, refunded);
      on.at('2026-04-16T00:00:00.000Z');
      expect(await resume(on.context, callOf(scope), id, false)).toMatchObject({
        ...{ status: 'active', currentPeriodEnd: new Date('2026-05-16T00:00:00.000Z') },
      });
      return (await read(id)).invoice.amountPaidCents;
    };
    expect(await resumed(0)).toBe(1_500);
    expect(await resumed(1_000)).toBe(2_000);
    expect(await resumed(0, 'none')).toBe(3_000);
  });

  it('is dunned when its resumption cannot be paid', async () => {
    const { subscriptionId: id, card } = await sell(on, scope);
    await pause(on.context, callOf(scope), id);
    on.peers.behave(card, 'insufficient_funds');
    on.at('2026-06-16T00:00:00.000Z');
    expect(await resume(on.context, callOf(scope), id, false)).toMatchObject({
      ...{ status: 'past_due', paymentAt: new Date('2026-06-17T00:00:00.000Z') },
    });
  });

  it('is resumed at the instant at which the paused period began', async () => {
    const { subscriptionId: id } = await sell(on, scope);
    await pause(on.context, callOf(scope), id);
    expect(await resume(on.context, callOf(scope), id, false)).toMatchObject({ status: 'active' });
    expect(await invoicesOf(id)).toHaveLength(2);
  });

  it('ends with its subscription, also at the end of the period', async () => {
    const { subscriptionId: id } = await sell(on, scope, { cancelAtPeriodEnd: true });
    await pause(on.context, callOf(scope), id);
    await runAt(may);
    expect((await read(id)).subscription.status).toBe('canceled');
  });
});

describe('a crash in the middle of a change', () => {
  it.each(['subscription.changed', 'invoice_charge.begun', 'invoice_charge.answered', 'invoice_charge.before_commit'])(
    'at %s leaves what a resumption costs to be charged once',
    async (name) => {
      const { subscriptionId: id } = await sell(on, scope);
      await pause(on.context, callOf(scope), id);
      on.at('2026-06-16T00:00:00.000Z');
      turnFailpointsOn();
      armFailpoint(name, { action: 'error', skip: 0 });
      await resume(on.context, callOf(scope), id, false).catch((error: unknown) => expect(error).toBeInstanceOf(Error));
      turnFailpointsOff();
      await runAt('2026-06-16T00:02:00.000Z');
      const { subscription, invoice } = await read(id);
      expect([subscription.status, invoice.status]).toEqual(['active', 'paid']);
      expect(on.peers.takenOf(invoice.id)).toBe(3_000);
      expect(await invoicesOf(id)).toHaveLength(2);
    },
  );
});

it('changes of its items scale the tax that was agreed at the sale, and lose nothing of it [D14.185, D14.336]', async () => {
  const { subscriptionId: id, priceIds } = await sell(on, scope, {
    ...{ items: [{ unitAmountCents: 1_000, quantity: 3, taxCents: 7 }], receivedCents: 3_007 },
  });
  const [sold = ''] = priceIds;
  const taxWith = async (priceId: string, quantity: number) => {
    await update(id, { items: [{ priceId, quantity }], prorationBehavior: 'none' });
    return (await read(id)).subscription.items.map(({ taxCents }) => taxCents);
  };
  expect([await taxWith(sold, 1), await taxWith(sold, 3)]).toEqual([[2], [7]]);
  const [free, same] = [0, 1_000].map((unitAmountCents) => on.peers.price({ unitAmountCents }));
  expect([await taxWith(free ?? '', 3), await taxWith(same ?? '', 6)]).toEqual([[0], [14]]);
  const agreed = (tax: string, subtotal: string) =>
    on.test.admin(
      `update billing.subscription_items set agreed_tax_cents = ${tax}, agreed_subtotal_cents = ${subtotal} where subscription_id = $1`,
      [id],
    );
  for (const [tax, subtotal] of [
    ['null', '1'],
    ['1', 'null'],
    ['1', '0'],
    ['-1', '1'],
  ] as const) {
    await expect(agreed(tax, subtotal)).rejects.toThrow('agreed_tax');
  }
});

describe('each call in each status [D14.262]', () => everyStatusTests(() => on));
