import type { Scope } from '@eligo/postgres';
import { cents, newId } from '@eligo/values';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { cancelSubscription } from '../src/actions/cancel-subscription.ts';
import { changeRenewalSpread } from '../src/actions/change-renewal-spread.ts';
import { pause } from '../src/actions/pause-and-resume.ts';
import { advanceTestClock, createTestClock } from '../src/actions/test-clocks.ts';
import { chargeAt } from '../src/domain/renewal-spread.ts';
import { callOf, type Fixture, openFixture, sell, someScope, start } from './fixture.ts';
import { callsOn, may } from './subscription-calls.ts';

let on: Fixture;
let scope: Scope;

beforeAll(async () => {
  on = await openFixture();
});
afterAll(() => on.close());
beforeEach(async () => {
  on.at(start);
  scope = someScope();
  await changeRenewalSpread(on.database, scope, 60);
});

const { runAt, read, update, pay, voids, refundsOf } = callsOn(
  () => on,
  () => scope,
);
const begin = new Date(may);
const hourLater = '2026-05-01T01:00:00.000Z';

/** One whose minute is not the first, so that it waits. */
async function sold() {
  for (;;) {
    const made = await sell(on, scope);
    const of = { id: made.subscriptionId, testClockId: null };
    if (chargeAt(of, begin, 60, begin).getTime() > begin.getTime() + 60_000) return made;
  }
}

const now = { atPeriodEnd: false, refund: 'none', refundAmountCents: null } as const;
const halfOff = () => on.peers.coupon({ percentOffBasisPoints: 5_000, duration: 'forever' });

/** An active one whose renewal has its invoice, which no card was asked for yet. */
async function waiting() {
  const { subscriptionId: id } = await sold();
  await runAt(may);
  const { subscription, invoice } = await read(id);
  expect([subscription.status, invoice.status]).toEqual(['active', 'open']);
  return { id, invoiceId: invoice.id };
}
type Waiting = Awaited<ReturnType<typeof waiting>>;

/** What an hour later has become of it, of its invoice and of the card, and what its next period costs. */
interface Left {
  readonly status: string;
  readonly invoice: string;
  readonly taken: number;
  readonly next?: number;
}

describe('the charge of a renewal', () => {
  it('has a time of its own within the minutes, the same for each try and spread evenly [D14.235]', () => {
    const quarters = [0, 0, 0, 0];
    for (let n = 0; n < 2_000; n++) {
      const of = { id: newId('subscription'), testClockId: null };
      const time = chargeAt(of, begin, 60, begin);
      expect(chargeAt(of, begin, 60, begin)).toEqual(time);
      const minutes = (time.getTime() - begin.getTime()) / 60_000;
      expect(minutes).toBeGreaterThanOrEqual(0);
      expect(minutes).toBeLessThan(60);
      quarters[Math.floor(minutes / 15)] = (quarters[Math.floor(minutes / 15)] ?? 0) + 1;
    }
    // Each is 500 but for chance: seven standard deviations are 136.
    for (const count of quarters) expect(Math.abs(count - 500)).toBeLessThan(136);
  });

  it('waits for its minute, while the period has begun and its invoice is open, and happens once [D14.235]', async () => {
    const { subscriptionId, card } = await sold();
    await runAt(may);
    const { subscription, invoice } = await read(subscriptionId);
    expect(subscription).toMatchObject({ status: 'active', currentPeriodStart: begin });
    expect(subscription.paymentAt?.getTime()).toBeGreaterThan(begin.getTime());
    expect(invoice.status).toBe('open');
    await runAt(new Date((subscription.paymentAt?.getTime() ?? 0) - 1).toISOString());
    expect(on.peers.taken.filter(({ paymentMethodId }) => paymentMethodId === card)).toEqual([]);
    await runAt(hourLater);
    await runAt(hourLater);
    expect((await read(subscriptionId)).invoice.status).toBe('paid');
    expect(on.peers.taken.filter(({ paymentMethodId }) => paymentMethodId === card)).toHaveLength(1);
  });

  it('is made at its minute where another card was named before and declined, and the subscription stays active [D14.231, D14.235]', async () => {
    const { subscriptionId: id, customerId, card } = await sold();
    await runAt(may);
    const before = await read(id);
    await expect(pay(before.invoice.id, on.peers.cardOf(customerId, true, 'stolen_card'))).rejects.toMatchObject({
      code: 'card_declined',
    });
    const { subscription } = await read(id);
    expect(subscription).toMatchObject({ status: 'active', paymentAt: before.subscription.paymentAt });
    await runAt(hourLater);
    expect((await read(id)).invoice).toMatchObject({ status: 'paid' });
    expect(on.peers.taken.at(-1)).toMatchObject({ paymentMethodId: card });
  });

  it('can be asked for before, which lets other items be given within the hour [D14.235]', async () => {
    const { subscriptionId } = await sold();
    await runAt(may);
    const price = on.peers.price({ unitAmountCents: 6_000 });
    const change = { items: [{ priceId: price, quantity: 1 }], prorationBehavior: 'none' };
    await expect(update(subscriptionId, change)).rejects.toMatchObject({ code: 'lock_timeout' });
    expect(await pay((await read(subscriptionId)).invoice.id)).toMatchObject({ status: 'paid' });
    expect(await update(subscriptionId, change)).toMatchObject({ status: 'active' });
  });

  it.each<[string, (of: Waiting) => Promise<unknown>, object, Left]>([
    [
      'a cancellation at the end of the period',
      ({ id }) => cancelSubscription(on.context, scope, id, { ...now, atPeriodEnd: true }),
      { status: 'active', cancelAtPeriodEnd: true },
      { status: 'active', invoice: 'paid', taken: 3_000 },
    ],
    [
      'a cancellation',
      ({ id }) => cancelSubscription(on.context, scope, id, now),
      { status: 'canceled', paymentAt: null },
      { status: 'canceled', invoice: 'uncollectible', taken: 0 },
    ],
    [
      'a cancellation with a full refund, which finds nothing that was paid',
      ({ id }) => cancelSubscription(on.context, scope, id, { ...now, refund: 'full' }),
      { status: 'canceled', paymentAt: null },
      { status: 'canceled', invoice: 'uncollectible', taken: 0 },
    ],
    [
      'a cancellation with a prorated refund, which finds nothing that was paid',
      ({ id }) => cancelSubscription(on.context, scope, id, { ...now, refund: 'prorated' }),
      { status: 'canceled', paymentAt: null },
      { status: 'canceled', invoice: 'uncollectible', taken: 0 },
    ],
    [
      'a void of its invoice',
      ({ invoiceId }) => voids(invoiceId),
      { status: 'active', paymentAt: null },
      { status: 'active', invoice: 'void', taken: 0 },
    ],
    [
      'a coupon, which counts from the next invoice on',
      ({ id }) => update(id, { discount: { couponId: halfOff(), promoCode: null } }),
      { status: 'active', discounts: [{ coupon: { percentOffBasisPoints: 5_000 } }] },
      { status: 'active', invoice: 'paid', taken: 3_000, next: 1_500 },
    ],
    [
      'a time to end after the charge',
      ({ id }) => update(id, { cancelAt: new Date(hourLater) }),
      { status: 'active', cancelAt: new Date(hourLater) },
      { status: 'canceled', invoice: 'paid', taken: 3_000 },
    ],
    [
      'a time to end before the charge, which is then not made',
      ({ id }) => update(id, { cancelAt: new Date(begin.getTime() + 1_000) }),
      { status: 'active', cancelAt: new Date(begin.getTime() + 1_000) },
      { status: 'canceled', invoice: 'uncollectible', taken: 0 },
    ],
  ])('that waits for its minute takes %s [D14.235, D14.262]', async (_what, ask, answer, { next, ...left }) => {
    const of = await waiting();
    await ask(of);
    expect((await read(of.id)).subscription).toMatchObject(answer);
    await runAt(hourLater);
    const { subscription, invoice } = await read(of.id);
    const taken = on.peers.takenOf(of.invoiceId);
    expect({ status: subscription.status, invoice: invoice.status, taken }).toEqual(left);
    expect(await refundsOf(of.id)).toEqual([]);
    if (next === undefined) return;
    await runAt('2026-06-01T01:00:00.000Z');
    expect((await read(of.id)).invoice).toMatchObject({ status: 'paid', totalCents: next });
  });

  it('that waits for its minute is 503 lock_timeout for a pause, and a custom refund finds nothing [D14.235, D14.262]', async () => {
    const { id } = await waiting();
    await expect(pause(on.context, callOf(scope), id)).rejects.toMatchObject({ status: 503, code: 'lock_timeout' });
    const custom = { ...now, refund: 'custom', refundAmountCents: cents(1) } as const;
    await expect(cancelSubscription(on.context, scope, id, custom)).rejects.toMatchObject({
      violations: [{ type: 'refund_amount_exceeds_remaining' }],
    });
    await runAt(hourLater);
    expect((await read(id)).invoice).toMatchObject({ status: 'paid', totalCents: 3_000 });
    expect(await pause(on.context, callOf(scope), id)).toMatchObject({ status: 'paused' });
  });

  it('does not wait after an outage, on a test clock, and where the account has no minutes [D14.235]', async () => {
    const late = await sold();
    await runAt('2026-05-01T02:00:00.000Z');
    expect((await read(late.subscriptionId)).invoice.status).toBe('paid');
    on.at(start);
    const clock = await createTestClock(on.context, callOf(scope), { frozenTime: start, name: null });
    const onClock = await sell(on, scope, { testClockId: clock.id });
    await advanceTestClock(on.context, callOf(scope), clock.id, begin);
    expect((await read(onClock.subscriptionId)).invoice.status).toBe('paid');
    const plain = await sold();
    await changeRenewalSpread(on.database, scope, 0);
    await runAt(may);
    expect((await read(plain.subscriptionId)).invoice.status).toBe('paid');
  });

  it('takes no more than an hour', async () => {
    for (const minutes of [-1, 61, 1.5]) {
      await expect(changeRenewalSpread(on.database, scope, minutes)).rejects.toMatchObject({ status: 422 });
    }
  });
});
