import type { Scope } from '@eligo/postgres';
import { newId } from '@eligo/values';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { changeRenewalSpread } from '../src/actions/change-renewal-spread.ts';
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

const { runAt, read, update, pay } = callsOn(
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
