import { maxGroupSize } from '@eligo/postgres';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { changeRenewalSpread } from '../src/actions/change-renewal-spread.ts';
import { createChargePace } from '../src/charge-pace.ts';
import { chargeAt } from '../src/domain/renewal-spread.ts';
import { runDueSubscriptions } from '../src/jobs/run-due.ts';
import { type Fixture, openFixture, paidPeriods, type Sold, sell, someScope, start } from './fixture.ts';

let on: Fixture;

beforeAll(async () => {
  on = await openFixture();
});
afterAll(() => on.close());

const limits = { perSecond: 20, burst: 10 };
// Two groups, and one more of each account.
const mostInLook = 3 * maxGroupSize;
const stepMs = 100;
const minuteMs = 60_000;
const midnight = new Date('2026-05-01T00:00:00.000Z').getTime();
const outageEnds = midnight + 6 * 60 * minuteMs;

it('an outage of six hours at midnight is made up at the pace of each account, in the order of the due times, without a second charge; accounts with fewer due do not wait, and what is not late waits for its minute [D14.93, D14.190, D14.235]', async () => {
  const [busy, spread, single] = [someScope(), someScope(), someScope()];
  const soldAt = (minutes: number) => new Date(start.getTime() + minutes * minuteMs);
  const backlog: Sold[] = [];
  for (let n = 0; n < 100; n++) backlog.push(await sell(on, busy, { at: soldAt(3.5 * n) }));
  await changeRenewalSpread(on.database, spread, 60);
  const late: Sold[] = [];
  for (let n = 0; n < 12; n++) late.push(await sell(on, spread, { at: soldAt(25 * n) }));
  const last = await sell(on, single, { at: soldAt(359) });
  // One of the account that spreads its renewals whose minute is still to come when the outage ends.
  const begins = new Date(midnight + 355 * minuteMs);
  const minuteOf = ({ subscriptionId: id }: Sold) => chargeAt({ id, testClockId: null }, begins, 60, begins).getTime();
  let waiting = await sell(on, spread, { at: soldAt(355) });
  const punctual = [];
  while (minuteOf(waiting) <= outageEnds + 10 * minuteMs) {
    punctual.push(waiting);
    waiting = await sell(on, spread, { at: soldAt(355) });
  }

  const asked: { readonly card: string; readonly at: number }[] = [];
  const { checkout } = on.context;
  const chargeInvoice: typeof checkout.chargeInvoice = (request, call) => {
    asked.push({ card: request.paymentMethodId ?? '', at: on.context.clock.now().getTime() });
    return checkout.chargeInvoice(request, call);
  };
  const context = { ...on.context, pace: createChargePace(limits), checkout: { ...checkout, chargeInvoice } };
  const runAt = async (ms: number) => {
    on.at(new Date(ms));
    while (await runDueSubscriptions(context));
  };
  // The outage begins while three are charged: their answers are lost.
  for (const { card } of backlog.slice(0, 3)) on.peers.failOn(card, 'lost_after');
  await runAt(midnight + 8 * minuteMs);
  const before = asked.splice(0).length;
  expect(before).toBeGreaterThanOrEqual(3);
  for (let ms = 0; ms <= 6_000; ms += stepMs) await runAt(outageEnds + ms);

  const askedOf = (sold: readonly Sold[]) => {
    const places = new Map(sold.map(({ card }, place) => [card, place]));
    return asked.flatMap(({ card, at }) => {
      const place = places.get(card);
      return place === undefined ? [] : [{ place, at }];
    });
  };
  // Accounts do not share tokens: whoever has few due does not wait behind the backlog.
  expect(askedOf([last])).toEqual([{ place: 0, at: outageEnds }]);
  const ofSpread = askedOf([...late, ...punctual]);
  for (const { at } of askedOf(late)) expect(at).toBeLessThanOrEqual(outageEnds + 1_000);
  // Each account keeps to its bucket, over any time, and uses it up.
  const ofBusy = askedOf(backlog);
  for (const charges of [ofBusy, ofSpread]) {
    for (const [first, from] of charges.entries()) {
      for (const [index, { at }] of charges.slice(first).entries()) {
        const allowed = limits.burst + (limits.perSecond * (at - from.at)) / 1_000;
        expect(index + 1, `charges within ${at - from.at} ms`).toBeLessThanOrEqual(allowed);
      }
    }
  }
  const slowestMs = ((ofBusy.length - limits.burst) / limits.perSecond) * 1_000 + 2 * stepMs;
  expect((ofBusy.at(-1)?.at ?? 0) - outageEnds).toBeLessThanOrEqual(slowestMs);
  // In the order of their due times, but for the groups that one look takes: they take their turns at once. The three whose answers were lost are among them.
  for (const [at, { place }] of ofBusy.entries()) expect(Math.abs(place - at)).toBeLessThan(mostInLook);

  expect(askedOf([waiting])).toEqual([]);
  expect(await paidPeriods(on, waiting.subscriptionId)).toHaveLength(1);
  await runAt(minuteOf(waiting) - 1);
  expect(askedOf([waiting])).toEqual([]);
  await runAt(minuteOf(waiting));
  expect(askedOf([waiting])).toEqual([{ place: 0, at: minuteOf(waiting) }]);
  await runAt(outageEnds + 61 * minuteMs);

  for (const { subscriptionId, card } of [...backlog, ...late, ...punctual, waiting, last]) {
    expect(await paidPeriods(on, subscriptionId)).toHaveLength(2);
    expect(on.peers.taken.filter(({ paymentMethodId }) => paymentMethodId === card)).toHaveLength(1);
  }
});
