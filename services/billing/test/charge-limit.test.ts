import type { Scope } from '@eligo/postgres';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createSubscription } from '../src/actions/create-subscription.ts';
import type { SubscriptionUpdate } from '../src/actions/update-subscription.ts';
import { pendingProrations } from '../src/store/prorations.ts';
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
  on.peers.redemptions.clear();
});

const { runAt, read, update } = callsOn(
  () => on,
  () => scope,
);
const durations = ['once', 'repeating'] as const;
type Duration = (typeof durations)[number] | 'forever';

const half = (duration: Duration, durationInMonths = 3) =>
  on.peers.coupon({
    ...{ percentOffBasisPoints: 5_000, duration },
    ...(duration === 'repeating' ? { durationInMonths } : {}),
  });
const given = (couponId: string): Partial<SubscriptionUpdate> => ({ discount: { couponId, promoCode: null } });
const tooLargeAt = (field: string) => ({
  violations: [{ loc: ['body', 'subscription', field], type: 'amount_too_large' }],
});
const priceOf = (unitAmountCents: number) => [{ priceId: on.peers.price({ unitAmountCents }), quantity: 1 }];

/** A subscription that the API sells at this amount a month, with a coupon. */
async function made(unitAmountCents: number, couponId: string | null, trialDays: number | null = null) {
  const customerId = on.peers.customer();
  const { subscriptionId } = await createSubscription(
    on.context,
    callOf(scope),
    {
      ...{ customerId, items: [{ priceId: on.peers.price({ unitAmountCents }), quantity: 1 }], metadata: {} },
      ...{ trialEnd: null, trialDays, missingPaymentMethod: null, cancelAt: null, cancelAtPeriodEnd: false },
      ...{ defaultPaymentMethodId: on.peers.cardOf(customerId, true), backupPaymentMethodId: null },
      ...{ prorationBehavior: null, discount: { couponId, promoCode: null } },
    },
    undefined,
  );
  return subscriptionId;
}

describe('a subscription whose later periods are more than any card can be charged', () => {
  it.each(durations)('is not sold, whatever a coupon takes off first: %s [D14.389]', async (duration) => {
    for (const trialDays of [null, 14]) {
      await expect(made(120_000_000, half(duration), trialDays)).rejects.toMatchObject(tooLargeAt('items'));
    }
    // The coupon can be redeemed by another subscription.
    expect([...on.peers.redemptions.values()]).toEqual([]);
    const { invoice } = await read(await made(80_000_000, half(duration)));
    expect([invoice.totalCents, invoice.status]).toEqual([40_000_000, 'paid']);
  });

  it('is sold where the coupon holds forever, and each renewal is charged [D14.389]', async () => {
    const id = await made(120_000_000, half('forever'));
    await runAt(may);
    expect((await read(id)).invoice).toMatchObject({ status: 'paid', totalCents: 60_000_000 });
  });

  it.each(durations)('does not come of other items while a coupon holds: %s [D14.389]', async (duration) => {
    const id = await made(80_000_000, half(duration));
    const other = { items: priceOf(120_000_000), prorationBehavior: 'none' };
    await expect(update(id, other)).rejects.toMatchObject(tooLargeAt('items'));
    await update(id, given(half('forever')));
    expect((await update(id, other)).items).toMatchObject([{ unitAmountCents: 120_000_000 }]);
  });

  it.each(durations)('does not come of another coupon, which is given back: %s [D14.389]', async (duration) => {
    const id = await made(120_000_000, half('forever'));
    await expect(update(id, given(half(duration)))).rejects.toMatchObject(tooLargeAt('coupon'));
    expect([...on.peers.redemptions.values()].at(-1)).toBe('released');
    await expect(update(id, { clearsDiscounts: true })).rejects.toMatchObject(tooLargeAt('clear'));
    await runAt(may);
    expect((await read(id)).invoice).toMatchObject({ status: 'paid', totalCents: 60_000_000 });
  });

  it('that was sold before may get a coupon for a time, and keeps it [D14.389]', async () => {
    const { subscriptionId: id } = await sell(on, scope, { items: [{ unitAmountCents: 60_000_000 }] });
    expect(await update(id, given(half('repeating')))).toMatchObject({ discounts: [{}] });
    await runAt(may);
    expect((await read(id)).invoice).toMatchObject({ status: 'paid', totalCents: 60_000_000 });
    await expect(update(id, { clearsDiscounts: true })).rejects.toMatchObject(tooLargeAt('clear'));
    await runAt('2026-06-01T00:00:00.000Z');
    expect((await read(id)).invoice).toMatchObject({ status: 'paid', totalCents: 60_000_000 });
  });
});

describe('a subscription of an earlier release that comes to too much', () => {
  it.each(['none', 'create_prorations'])(
    'may come to less, and to no more: %s [D14.389]',
    async (prorationBehavior) => {
      const id = await made(60_000_000, half('repeating'));
      const item = { priceId: (await read(id)).subscription.items[0]?.priceId ?? '' };
      await on.test.admin(
        'update billing.subscription_items set quantity = 2, invoiced_cents = 60000000 where subscription_id = $1',
        [id],
      );
      const quantity = (count: number) => update(id, { items: [{ ...item, quantity: count }], prorationBehavior });
      await expect(quantity(3)).rejects.toMatchObject(tooLargeAt('items'));
      const smaller = { items: priceOf(110_000_000), prorationBehavior };
      expect((await update(id, smaller)).items).toMatchObject([{ unitAmountCents: 110_000_000 }]);
      // Nor does a lower price make up for a coupon that is cleared with it.
      await update(id, given(half('forever')));
      const cleared = { items: priceOf(105_000_000), prorationBehavior, clearsDiscounts: true };
      await expect(update(id, cleared)).rejects.toMatchObject(tooLargeAt('items'));
    },
  );
});

describe('what is pending and the next period together', () => {
  const middle = '2026-04-16T00:00:00.000Z';
  const waits = (unitAmountCents: number) => ({
    items: priceOf(unitAmountCents),
    prorationBehavior: 'create_prorations',
  });

  it('count the coupons that hold then, not those that hold at the change [D14.185, D14.389]', async () => {
    // The coupon ends within the present period: the next one has none.
    const id = await made(20_000_000, half('repeating', 1));
    on.at(middle);
    await expect(update(id, waits(90_000_000))).rejects.toMatchObject(tooLargeAt('items'));
    expect(await pendingProrations(on.database, scope, id)).toEqual([]);
    await update(id, waits(70_000_000));
    await runAt(may);
    expect((await read(id)).invoice.status).toBe('paid');
  });

  it('are no more than any card can be charged where too little is due for an invoice now [D14.389]', async () => {
    const id = await made(99_999_900, null);
    on.at(middle);
    const atOnce = { prorationBehavior: 'always_invoice' };
    await expect(update(id, { items: priceOf(99_999_999), ...atOnce })).rejects.toMatchObject(tooLargeAt('items'));
    expect(await pendingProrations(on.database, scope, id)).toEqual([]);
    await update(id, { items: priceOf(99_999_930), ...atOnce });
    await runAt(may);
    expect((await read(id)).invoice).toMatchObject({ status: 'paid', totalCents: 99_999_945 });
  });

  it('are no more than any card can be charged once a coupon is cleared [D14.389]', async () => {
    const id = await made(20_000_000, half('forever'));
    on.at(middle);
    await update(id, waits(90_000_000));
    await expect(update(id, { clearsDiscounts: true })).rejects.toMatchObject(tooLargeAt('clear'));
    await runAt(may);
    expect((await read(id)).invoice.status).toBe('paid');
    expect((await update(id, { clearsDiscounts: true })).discounts).toEqual([]);
  });
});
