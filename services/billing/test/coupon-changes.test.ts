import { create } from '@bufbuild/protobuf';
import { Failure } from '@eligo/failures';
import type { Scope } from '@eligo/postgres';
import { PromoCodeListSchema } from '@eligo/proto/catalog/v1/catalog';
import { newId } from '@eligo/values';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type SubscriptionUpdate, updateSubscription } from '../src/actions/update-subscription.ts';
import type { Context } from '../src/context.ts';
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

const { runAt, read, update, invoicesOf, voids } = callsOn(
  () => on,
  () => scope,
);
const june = '2026-06-01T00:00:00.000Z';
const redemptions = () => [...on.peers.redemptions.values()];
const tasks = () =>
  on.test.admin('select kind from billing.catalog_tasks where account_id = $1 order by kind', [scope.accountId]);

describe('a coupon in an update of a subscription', () => {
  it('is given back at once where the update is refused: the same request succeeds later [D14.116]', async () => {
    const { subscriptionId: id } = await sell(on, scope);
    const couponId = on.peers.coupon({ percentOffBasisPoints: 1_000, duration: 'forever' });
    const asked = {
      ...{ discount: { couponId, promoCode: null }, items: [{ priceId: on.peers.price(), quantity: 1 }] },
      prorationBehavior: 'none',
    };
    // The renewal is due, and has not begun.
    on.at(may);
    await expect(update(id, asked)).rejects.toMatchObject({ code: 'lock_timeout' });
    expect(redemptions()).toEqual(['released']);
    expect(await tasks()).toEqual([]);
    await runAt(may);
    expect(await update(id, asked)).toMatchObject({ discounts: [{ couponId }] });
    expect(redemptions()).toEqual(['released', 'reserved']);
    expect(await tasks()).toEqual([{ kind: 'finalize' }]);
  });

  it('changes nothing where the subscription has it: no redemption is counted, and what it was used for stays [D14.116]', async () => {
    const { subscriptionId: id } = await sell(on, scope);
    const couponId = on.peers.coupon({ percentOffBasisPoints: 5_000, duration: 'once' });
    const asked = { discount: { couponId, promoCode: null } };
    const { discounts } = await update(id, asked);
    // Its last redemption is the one that is counted.
    on.peers.usedUp.add(couponId);
    expect((await update(id, { ...asked, metadata: { plan: 'gold' } })).discounts).toEqual(discounts);
    await runAt(may);
    expect((await read(id)).invoice.totalCents).toBe(1_500);
    await update(id, asked);
    await runAt('2026-06-01T00:00:00.000Z');
    expect((await read(id)).invoice.totalCents).toBe(3_000);
    expect(redemptions()).toHaveLength(1);
  });

  it('is taken anew where the request clears the discounts [D14.116]', async () => {
    const { subscriptionId: id } = await sell(on, scope);
    const couponId = on.peers.coupon({ percentOffBasisPoints: 5_000, duration: 'once' });
    const asked = { discount: { couponId, promoCode: null } };
    await update(id, asked);
    await runAt(may);
    await update(id, { ...asked, clearsDiscounts: true });
    await runAt('2026-06-01T00:00:00.000Z');
    expect((await read(id)).invoice.totalCents).toBe(1_500);
    expect(redemptions()).toHaveLength(2);
  });
});

it('a coupon that repeats is taken off for its months after a trial that is as long, which a session sold [D14.92, D14.361]', async () => {
  const coupons = [{ duration: 'repeating', durationInMonths: 1, percentOffBasisPoints: 5_000 }];
  const { subscriptionId: id } = await sell(on, scope, { trialDays: 30, coupons });
  for (const time of [may, june]) await runAt(time);
  const totals = (await invoicesOf(id)).map(({ total_cents }) => Number(total_cents));
  expect([totals, (await read(id)).subscription.discounts]).toMatchObject([
    [0, 1_500, 3_000],
    [{ startMs: String(start.getTime()), endMs: String(Date.parse(june)) }],
  ]);
});

it('a coupon whose months have not begun is taken off nothing that changes within the period, and off the next one [D14.361]', async () => {
  const items = [{ unitAmountCents: 12_000, quantity: 1, interval: 'year' as const }];
  const { subscriptionId: id, priceIds } = await sell(on, scope, { items, receivedCents: 12_000 });
  const couponId = on.peers.coupon({ percentOffBasisPoints: 5_000, duration: 'repeating', durationInMonths: 1 });
  on.at('2026-04-02T00:00:00.000Z');
  await update(id, { discount: { couponId, promoCode: null } });
  on.at('2026-09-30T12:00:00.000Z');
  await update(id, { items: [{ priceId: priceIds[0] ?? '', quantity: 2 }], prorationBehavior: 'always_invoice' });
  await runAt('2027-04-01T00:00:00.000Z');
  const totals = (await invoicesOf(id)).slice(1).map(({ total_cents }) => Number(total_cents));
  expect(totals).toEqual([6_000, 12_000]);
});

describe('a coupon that is given together with other items halfway through a period', () => {
  /** 10.00 a month, of which 10.00 becomes 20.00 with 50 % off forever. */
  async function changed(prorationBehavior: string, interval = 'month') {
    const items = [{ unitAmountCents: 1_000, quantity: 1 }];
    const { subscriptionId: id } = await sell(on, scope, { items, receivedCents: 1_000 });
    on.at('2026-04-16T00:00:00.000Z');
    const price = on.peers.price({ unitAmountCents: 2_000, recurring: { interval } });
    const couponId = on.peers.coupon({ percentOffBasisPoints: 5_000, duration: 'forever' });
    const discount = { couponId, promoCode: null };
    await update(id, { items: [{ priceId: price, quantity: 1 }], discount, prorationBehavior });
    return { id, price };
  }
  const totals = async (id: string) => (await invoicesOf(id)).slice(1).map(({ total_cents }) => Number(total_cents));

  it('is taken off the next period, and not off what is left of this one [D14.116, D14.362]', async () => {
    const { id } = await changed('always_invoice');
    expect(await totals(id)).toEqual([500]);
    await runAt(may);
    expect(await totals(id)).toEqual([500, 1_000]);
  });

  it('is not taken off what the next invoice carries of this period either [D14.116, D14.362]', async () => {
    const { id } = await changed('create_prorations');
    await runAt(may);
    expect(await totals(id)).toEqual([500 + 1_000]);
  });

  it('is taken off a period of another interval, which begins at once [D14.187, D14.362]', async () => {
    const { id } = await changed('none', 'year');
    expect(await totals(id)).toEqual([1_000]);
  });

  it('is taken off what changes within the period later [D14.362]', async () => {
    const { id, price } = await changed('none');
    await update(id, { items: [{ priceId: price, quantity: 2 }], prorationBehavior: 'always_invoice' });
    // 5.00 of credit, and half of 40.00 with 50 % off.
    expect(await totals(id)).toEqual([500]);
  });

  it('leaves the discount that it replaces to what is left of the period [D14.362]', async () => {
    const items = [1, 2].map(() => ({ unitAmountCents: 1_000, quantity: 1 }));
    const coupons = [{ duration: 'forever', percentOffBasisPoints: 2_500 }];
    const { subscriptionId: id, priceIds } = await sell(on, scope, { items, coupons, receivedCents: 1_500 });
    await runAt(may);
    expect(await totals(id)).toEqual([1_500]);
    on.at('2026-05-16T12:00:00.000Z');
    const [stays = ''] = priceIds;
    const asked = [stays, on.peers.price({ unitAmountCents: 3_000 })].map((priceId) => ({ priceId, quantity: 1 }));
    await update(id, { items: asked, clearsDiscounts: true, prorationBehavior: 'always_invoice' });
    // Half of 22.50 less half of 7.50.
    expect(await totals(id)).toEqual([1_500, 750]);
    await runAt(june);
    expect(await totals(id)).toEqual([1_500, 750, 4_000]);
  });
});

describe('a promo code in an update of a subscription', () => {
  it('changes nothing where the subscription has it, also once it is used up or deactivated [D14.116]', async () => {
    const { subscriptionId: id } = await sell(on, scope);
    const couponId = on.peers.coupon({ percentOffBasisPoints: 5_000, duration: 'forever' });
    let isActive = true;
    const loc = ['body', 'subscription', 'discounts', '0', 'promo_code'];
    const promoCodeId = newId('promo_code');
    const catalog = {
      ...on.context.catalog,
      async resolveCart(request, call) {
        if (!isActive) throw Failure.invalid(loc, 'promo_code_invalid', 'promo_code_invalid');
        const source = { case: 'couponId' as const, value: couponId };
        const asked = { ...request, discounts: [{ source }] } as typeof request;
        const cart = await on.context.catalog.resolveCart(asked, call);
        return { ...cart, discounts: cart.discounts.map((one) => ({ ...one, promoCodeId })) };
      },
      // It has the name of one that was deactivated.
      listPromoCodes: async ({ code }) =>
        create(PromoCodeListSchema, {
          promoCodes: code?.toUpperCase() === 'SPRING' ? [{ promoCodeId: newId('promo_code') }, { promoCodeId }] : [],
        }),
    } satisfies Context['catalog'];
    const enter = (promoCode: string, parts: Partial<SubscriptionUpdate> = {}) =>
      updateSubscription({ ...on.context, catalog }, callOf(scope), id, {
        ...{ discount: { couponId: null, promoCode }, clearsDiscounts: false },
        ...parts,
      });
    const { discounts } = await enter('SPRING');
    expect(discounts).toMatchObject([{ couponId, promoCodeId }]);
    isActive = false;
    expect(await enter('Spring', { metadata: { plan: 'gold' } })).toMatchObject({
      discounts,
      metadata: { plan: 'gold' },
    });
    const refused = { violations: [{ type: 'promo_code_invalid', loc: ['body', 'subscription', 'promo_code'] }] };
    await expect(enter('SUMMER')).rejects.toMatchObject(refused);
    await expect(enter('SPRING', { clearsDiscounts: true })).rejects.toMatchObject(refused);
    expect(redemptions()).toEqual(['reserved']);
  });
});

describe('a fixed amount off two items, of which one changes halfway through the period', () => {
  /** Two items of 10.00 with 10.00 off, renewed in May. */
  async function renewed() {
    const items = [1, 2].map(() => ({ unitAmountCents: 1_000, quantity: 1 }));
    const { subscriptionId: id, priceIds, card } = await sell(on, scope, { items, receivedCents: 2_000 });
    const couponId = on.peers.coupon({ amountOffCents: 1_000n, duration: 'forever' });
    await update(id, { discount: { couponId, promoCode: null } });
    await runAt(may);
    on.at('2026-05-16T12:00:00.000Z');
    const [stays = '', goes = ''] = priceIds;
    return { id, card, stays, goes };
  }
  const pendingOf = async (id: string) =>
    (await pendingProrations(on.database, scope, id)).map(({ kind, leftCents }) =>
      kind === 'credit' ? -leftCents : leftCents,
    );
  const invoicedOf = async (id: string) =>
    (await read(id)).subscription.items.map(({ invoicedCents }) => Number(invoicedCents));
  const totalsOf = async (id: string) => (await invoicesOf(id)).map(({ total_cents }) => Number(total_cents));

  it('is all that the other one has for the remaining time [D14.295]', async () => {
    const { id, stays } = await renewed();
    expect(await invoicedOf(id)).toEqual([500, 500]);
    await update(id, { items: [{ priceId: stays, quantity: 1 }] });
    expect([await pendingOf(id), await invoicedOf(id)]).toEqual([[-250, -250], [0]]);
    const price = on.peers.price({ unitAmountCents: 3_000 });
    await update(id, {
      items: [
        { priceId: stays, quantity: 1 },
        { priceId: price, quantity: 1 },
      ],
    });
    expect(await pendingOf(id)).toEqual([-250, -250, 375, 1_125]);
    await runAt('2026-06-01T00:00:00.000Z');
    expect([await totalsOf(id), await pendingOf(id)]).toEqual([[2_000, 1_000, 4_000], []]);
  });

  it('takes back what a void invoice added to an item that stays, and no more [D14.186, D14.295]', async () => {
    const { id, card, stays } = await renewed();
    on.peers.behave(card, 'insufficient_funds');
    const price = on.peers.price({ unitAmountCents: 3_000 });
    await update(id, {
      items: [
        { priceId: stays, quantity: 1 },
        { priceId: price, quantity: 1 },
      ],
      prorationBehavior: 'always_invoice',
    });
    const { subscription, invoice } = await read(id);
    expect([subscription.status, invoice.totalCents]).toEqual(['past_due', 1_125 + 125 - 250]);
    expect(await invoicedOf(id)).toEqual([750, 2_250]);
    await voids(invoice.id);
    expect([await invoicedOf(id), await pendingOf(id)]).toEqual([[500, 0], [-250]]);
    on.peers.behave(card, 'pays');
    await update(id, { items: [{ priceId: price, quantity: 1 }] });
    expect(await pendingOf(id)).toEqual([-250, -250]);
  });
});

describe('many items with a fixed discount', () => {
  it('take more changes than 200 prorations: the shares of those that stay are counted apart, and the renewal carries all [D14.188, D14.295]', async () => {
    const items = Array.from({ length: 20 }, () => ({ unitAmountCents: 3_000, quantity: 1 }));
    const { subscriptionId: id, priceIds } = await sell(on, scope, { items });
    const couponId = on.peers.coupon({ amountOffCents: 50_000n, duration: 'forever' });
    await update(id, { discount: { couponId, promoCode: null } });
    await runAt(may);
    on.at('2026-05-02T00:00:00.000Z');
    const [first = '', ...others] = priceIds;
    const kept = others.map((priceId) => ({ priceId, quantity: 1 }));
    for (let quantity = 2; quantity <= 13; quantity++) {
      await update(id, { items: [{ priceId: first, quantity }, ...kept] });
    }
    const pending = await pendingProrations(on.database, scope, id);
    const shares = pending.filter(({ isShare }) => isShare);
    expect(pending.length - shares.length).toBe(24);
    expect(shares.length).toBeGreaterThan(200);
    expect(shares.every(({ priceId }) => priceId !== first)).toBe(true);
    await runAt(june);
    expect(await pendingProrations(on.database, scope, id)).toEqual([]);
    const sum = pending.reduce(
      (all, { kind, amountCents }) => all + (kind === 'credit' ? -amountCents : amountCents),
      0,
    );
    expect(Number((await invoicesOf(id)).at(-1)?.total_cents)).toBe(32 * 3_000 - 50_000 + sum);
  });
});
