import type { Scope } from '@eligo/postgres';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createSubscription } from '../src/actions/create-subscription.ts';
import { pause, resume } from '../src/actions/pause-and-resume.ts';
import type { StoredDiscount } from '../src/domain/discounts.ts';
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
});

const { runAt, read, invoicesOf, update } = callsOn(
  () => on,
  () => scope,
);
const [half, june, july] = ['2026-04-16T00:00:00.000Z', '2026-06-01T00:00:00.000Z', '2026-07-01T00:00:00.000Z'];
const off = (fields: { percentOffBasisPoints?: number; amountOffCents?: bigint; prices?: readonly string[] }) => {
  const { prices = [], ...amount } = fields;
  return on.peers.coupon({ duration: 'once', appliesTo: { prices: [...prices] }, ...amount });
};

/** A subscription that the API sells at these amounts a month, with a coupon. */
async function made(amounts: readonly number[], couponOf: (prices: readonly string[]) => string) {
  const customerId = on.peers.customer();
  const priceIds = amounts.map((unitAmountCents) => on.peers.price({ unitAmountCents }));
  const { subscriptionId } = await createSubscription(
    on.context,
    callOf(scope),
    {
      ...{ customerId, items: priceIds.map((priceId) => ({ priceId, quantity: 1 })), metadata: {} },
      ...{ trialEnd: null, trialDays: null, missingPaymentMethod: null, cancelAt: null, cancelAtPeriodEnd: false },
      ...{ defaultPaymentMethodId: on.peers.cardOf(customerId, true), backupPaymentMethodId: null },
      ...{ prorationBehavior: 'none', discount: { couponId: couponOf(priceIds), promoCode: null } },
    },
    undefined,
  );
  return { id: subscriptionId, priceIds };
}
const changeTo = (id: string, unitAmountCents: number, prorationBehavior = 'none', interval = 'month') =>
  update(id, {
    items: [{ priceId: on.peers.price({ unitAmountCents, recurring: { interval } }), quantity: 1 }],
    prorationBehavior,
  });
const totalsOf = async (id: string) =>
  (await invoicesOf(id)).map(({ total_cents, status }) => [Number(total_cents), status]);
const usedAt = async (id: string) => {
  const [discount] = (await read(id)).subscription.discounts as StoredDiscount[];
  return discount?.endMs === undefined ? null : new Date(Number(discount.endMs)).toISOString();
};

describe('a coupon that holds once is used up by the first invoice that it takes something off', () => {
  it.each([
    ['half of a first invoice', [3_000], { percentOffBasisPoints: 5_000 }, [1_500, 'paid']],
    ['all of a first invoice', [3_000], { percentOffBasisPoints: 10_000 }, [0, 'paid']],
    ['so much that too little is left to charge', [80], { percentOffBasisPoints: 5_000 }, [40, 'uncollectible']],
  ])('%s [D14.92]', async (_what, amounts, fields, first) => {
    const { id } = await made(amounts, () => off(fields));
    expect([await totalsOf(id), await usedAt(id)]).toEqual([[first], start.toISOString()]);
    await runAt(may);
    expect((await totalsOf(id))[1]).toEqual([amounts[0], 'paid']);
  });

  it.each([
    ['a free first invoice', [0], [0, 'paid']],
    ['a first invoice that is too little to charge without it, too', [45], [22, 'uncollectible']],
  ])('and not by %s [D14.92]', async (_what, amounts, first) => {
    const { id } = await made(amounts, () => off({ percentOffBasisPoints: 5_000 }));
    expect([await totalsOf(id), await usedAt(id)]).toEqual([[first], null]);
    await changeTo(id, 3_000);
    await runAt(may);
    await runAt(june);
    expect((await totalsOf(id)).slice(1)).toEqual([
      [1_500, 'paid'],
      [3_000, 'paid'],
    ]);
    expect(await usedAt(id)).toBe(may);
  });

  it('and not by one of other items alone [D14.92]', async () => {
    const { id, priceIds } = await made([3_000, 0], ([, free = '']) => off({ amountOffCents: 500n, prices: [free] }));
    expect([await totalsOf(id), await usedAt(id)]).toEqual([[[3_000, 'paid']], null]);
    await runAt(may);
    expect(await usedAt(id)).toBeNull();
    const prices = priceIds.slice(0, 1);
    await update(id, { discount: { couponId: off({ amountOffCents: 500n, prices }), promoCode: null } });
    await runAt(june);
    expect([(await totalsOf(id))[2], await usedAt(id)]).toEqual([[2_500, 'paid'], june]);
  });
});

describe('a coupon that holds once, of a subscription that a session sold', () => {
  const coupon = { duration: 'once', percentOffBasisPoints: 5_000 };
  it.each([
    ['used by a session that it took something off', 1_500, 3_000, start.toISOString()],
    ['not used by a free session', 0, 0, null],
  ])('is %s [D14.92]', async (_what, unitAmountCents, receivedCents, used) => {
    const items = [{ unitAmountCents }];
    const { subscriptionId: id } = await sell(on, scope, { items, receivedCents, coupons: [coupon] });
    expect(await usedAt(id)).toBe(used);
    await changeTo(id, 4_000);
    await runAt(may);
    expect((await totalsOf(id))[1]).toEqual([used === null ? 2_000 : 4_000, 'paid']);
  });
});

describe('a coupon that holds once, given within a period', () => {
  const given = async (id: string) => {
    await update(id, { discount: { couponId: off({ percentOffBasisPoints: 5_000 }), promoCode: null } });
  };

  it('is used by a renewal that credits pay: it spares them [D14.92]', async () => {
    const { subscriptionId: id } = await sell(on, scope);
    on.at(half);
    await changeTo(id, 200, 'create_prorations');
    await given(id);
    await runAt(may);
    await runAt(june);
    // 15.00 of credit, less 1.00 for April, 1.00 for May and 2.00 for June.
    const left = await pendingProrations(on.database, scope, id);
    expect(left.map(({ kind, leftCents }) => [kind, leftCents])).toEqual([['credit', 1_100]]);
    expect([await totalsOf(id), await usedAt(id)]).toEqual([[3_000, 0, 0].map((total) => [total, 'paid']), may]);
  });

  it('is used by a period of another interval, and not by a free one [D14.92, D14.187]', async () => {
    const { subscriptionId: id } = await sell(on, scope);
    await given(id);
    on.at(half);
    await changeTo(id, 0, 'none', 'week');
    expect([(await totalsOf(id))[1], await usedAt(id)]).toEqual([[0, 'paid'], null]);
    await changeTo(id, 24_000, 'none', 'year');
    expect([(await totalsOf(id))[2], await usedAt(id)]).toEqual([[12_000, 'paid'], half]);
  });

  it('is used by the period with which a paused subscription goes on, and not by a free one [D14.92, D14.117]', async () => {
    for (const [amount, used] of [
      [3_000, july],
      [0, null],
    ] as const) {
      on.at(start);
      const { subscriptionId: id } = await sell(on, scope, { items: [{ unitAmountCents: amount, quantity: 1 }] });
      await given(id);
      await pause(on.context, callOf(scope), id);
      on.at(july);
      await resume(on.context, callOf(scope), id, false);
      expect([(await totalsOf(id))[1], await usedAt(id)]).toEqual([[amount / 2, 'paid'], used]);
    }
  });
});
