import type { Scope } from '@eligo/postgres';
import { CostBudgets, CostMeter, Neighbors } from '@eligo/service';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { runDueOnClock } from '../src/actions/run-due-on-clock.ts';
import { advanceTestClock, createTestClock } from '../src/actions/test-clocks.ts';
import { clockShare } from '../src/clock-share.ts';
import type { Context } from '../src/context.ts';
import { finishClocks } from '../src/jobs/finish-clocks.ts';
import { type DuePlace, runDue, runDueSubscriptions } from '../src/jobs/run-due.ts';
import { findTestClock } from '../src/store/test-clocks.ts';
import { callOf, type Fixture, openFixture, paidPeriods, sell, someScope, start } from './fixture.ts';

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

const { signal } = new AbortController();
const year = new Date('2027-04-02T00:00:00.000Z');
const newClock = async () => (await createTestClock(on.context, callOf(scope), { frozenTime: start, name: null })).id;
const statusOf = async (id: string) => (await findTestClock(on.database, scope, id))?.status;

/** A process that is short of time for another account, in live mode, which always waits for an answer. */
function busyProcess() {
  const set = { nowMs: 1_000, isBusy: true };
  const neighbors = new Neighbors({ isBusy: () => set.isBusy, now: () => set.nowMs });
  neighbors.arrived({ accountId: 'facct_other', testMode: false });
  const budgets = new CostBudgets(neighbors);
  const share = clockShare({ neighbors, budgets, meter: new CostMeter(neighbors, budgets) });
  const context: Context = { ...on.context, clockShare: share };
  // As work of the account's clocks that took this long.
  const spend = (ms: number) => budgets.charge({ ...scope, of: 'clocks' }, ms);
  return { context, set, share, spend };
}

describe('while another account is short of time, the test clocks of an account', () => {
  it('begin nothing while they have used up their share, in a request as in the jobs, and go on when it is refilled [D14.388]', async () => {
    const { context, set, spend } = busyProcess();
    const clock = await newClock();
    const { subscriptionId } = await sell(on, scope, { testClockId: clock });
    spend(200);
    const call = { ...callOf(scope), timeoutMs: () => 1_000 };
    expect(await advanceTestClock(context, call, clock, year)).toMatchObject({ status: 'advancing' });
    expect(await finishClocks(context, signal)).toEqual({ dueInMs: 1_000 });
    expect(await paidPeriods(on, subscriptionId)).toHaveLength(1);
    // A tenth of the time in which the process works.
    set.nowMs += 1_501;
    const finished = async () => {
      await finishClocks(context, signal);
      set.nowMs += 10_000;
      return statusOf(clock);
    };
    await expect.poll(finished, { timeout: 60_000, interval: 1 }).toBe('ready');
    expect(await paidPeriods(on, subscriptionId)).toHaveLength(13);
  });

  it('advance past nothing that is due, though they have used up their share [D14.388]', async () => {
    const { context, share, spend } = busyProcess();
    const clock = await newClock();
    await sell(on, scope, { testClockId: clock, items: [{ interval: 'year' }] });
    spend(800);
    expect(share.mustWait(scope)).toBe(true);
    const call = { ...callOf(scope), timeoutMs: () => 1_000 };
    const until = new Date('2026-05-01T00:00:00.000Z');
    expect(await advanceTestClock(context, call, clock, until)).toMatchObject({ status: 'ready', frozenTime: until });
  });

  it('do one step at a time, and look at their share before the next [D14.388]', async () => {
    const { context, spend } = busyProcess();
    const clock = await newClock();
    await Promise.all([1, 2, 3].map(() => sell(on, scope, { testClockId: clock })));
    const until = new Date('2026-05-01T00:00:00.000Z');
    await on.test.admin('update billing.test_clocks set frozen_time = $2 where id = $1', [clock, until]);
    const [paid, { checkout }] = [on.peers.taken.length, context];
    const chargeInvoice: typeof checkout.chargeInvoice = (...request) => {
      spend(500);
      return checkout.chargeInvoice(...request);
    };
    const costly = { ...context, checkout: { ...checkout, chargeInvoice } };
    const run = () => runDueOnClock(costly, scope, clock, until, { signal, wait: false });
    // Of two that come together, one has to wait.
    expect((await Promise.all([run(), run()])).toSorted()).toEqual(['held', 'held']);
    expect(on.peers.taken.length - paid).toBe(1);
  });

  it('do not keep the job that finds them running [D14.388]', async () => {
    const { context, spend } = busyProcess();
    const clock = await newClock();
    await sell(on, scope, { testClockId: clock });
    await on.test.admin('update billing.test_clocks set frozen_time = $2 where id = $1', [clock, year]);
    spend(200);
    const place: DuePlace = {};
    expect([await runDueSubscriptions(context, signal, place), place.isClockHeld]).toEqual([false, true]);
    expect(await runDue(context).run(signal)).toEqual({ dueInMs: 1_000 });
    await sell(on, someScope());
    on.at(new Date(Date.parse('2026-05-01T00:00:00.000Z') - 300));
    expect(await runDue(context).run(signal)).toEqual({ dueInMs: 300 });
  });

  it('wait no longer once the process has time to spare [D14.388]', async () => {
    const { context, set, share, spend } = busyProcess();
    const clock = await newClock();
    const { subscriptionId } = await sell(on, scope, { testClockId: clock });
    spend(800);
    expect([share.mustWait(scope), share.stepsAtOnce(scope)]).toEqual([true, 1]);
    set.isBusy = false;
    expect([share.mustWait(scope), share.stepsAtOnce(scope)]).toEqual([false, 8]);
    expect(await advanceTestClock(context, callOf(scope), clock, year)).toMatchObject({ status: 'ready' });
    expect(await paidPeriods(on, subscriptionId)).toHaveLength(13);
  });
});
