import { fromBinary } from '@bufbuild/protobuf';
import { Failure } from '@eligo/failures';
import type { Scope } from '@eligo/postgres';
import { EventSchema } from '@eligo/proto/events/v1/events';
import fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { runDueOnClock } from '../src/actions/run-due-on-clock.ts';
import { advanceTestClock, createTestClock } from '../src/actions/test-clocks.ts';
import { nextStep } from '../src/domain/due-step.ts';
import { subscriptionStates } from '../src/domain/subscription-states.ts';
import { finishClocks } from '../src/jobs/finish-clocks.ts';
import { runDueSubscriptions } from '../src/jobs/run-due.ts';
import { findSubscription } from '../src/store/subscriptions.ts';
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

const newClock = async () => (await createTestClock(on.context, callOf(scope), { frozenTime: start, name: null })).id;
const advance = (id: string, to: string) => advanceTestClock(on.context, callOf(scope), id, new Date(to));
const toldOf = (id: string) =>
  on.test
    .admin<{ type: string; payload: Buffer }>(
      `select type, payload from billing.outbox where aggregate_id = $1 order by aggregate_seq`,
      [id],
    )
    .then((rows) =>
      rows.map(({ type, payload }) => ({ type, at: new Date(Number(fromBinary(EventSchema, payload).occurredAtMs)) })),
    );

describe('a test clock that is advanced', () => {
  it('takes its customers through a year in order, each step at its time, in seconds [D14.93]', async () => {
    const clock = await newClock();
    const { subscriptionId, card } = await sell(on, scope, { testClockId: clock, trialDays: 14 });
    const begun = performance.now();
    await advance(clock, '2026-07-16T00:00:00.000Z');
    on.peers.behave(card, 'insufficient_funds');
    // August is paid on the third day of dunning.
    await advance(clock, '2026-08-16T00:00:00.000Z');
    on.peers.behave(card, 'pays');
    expect(await advance(clock, '2027-04-01T00:00:00.000Z')).toMatchObject({ status: 'ready' });
    // About a second where nothing else runs.
    expect(performance.now() - begun).toBeLessThan(30_000);
    const invoices = await on.test.admin<{ period_start: Date; paid_at: Date; created_at: Date; status: string }>(
      'select period_start, paid_at, created_at, status from billing.invoices where subscription_id = $1 order by number',
      [subscriptionId],
    );
    expect(invoices.map(({ created_at }) => created_at)).toEqual(invoices.map(({ period_start }) => period_start));
    expect(invoices.map(({ paid_at }) => paid_at.toISOString().slice(0, 10))).toEqual([
      '2026-04-01',
      '2026-04-15',
      '2026-05-15',
      '2026-06-15',
      '2026-07-15',
      '2026-08-18',
      '2026-09-15',
      '2026-10-15',
      '2026-11-15',
      '2026-12-15',
      '2027-01-15',
      '2027-02-15',
      '2027-03-15',
    ]);
    // Each event has the time of its step: the end of the trial is announced, and August is declined on the 15th and paid on the 18th.
    const told = (await toldOf(subscriptionId)).map(({ at, type }) => `${at.toISOString().slice(0, 10)} ${type}`);
    const of = (kind: string) => told.filter((one) => one.endsWith(`.${kind}`)).map((one) => one.slice(0, 10));
    expect(told.map((one) => one.slice(0, 10))).toEqual(told.map((one) => one.slice(0, 10)).toSorted());
    expect(of('trial_will_end')).toEqual(['2026-04-12']);
    const paidOn = invoices.slice(1).map(({ paid_at }) => paid_at.toISOString().slice(0, 10));
    expect([...new Set(of('updated'))]).toEqual([...paidOn, '2026-08-15'].toSorted());
  });

  it('takes checkout to the time of each step before it, and to its own time at the end [D14.93]', async () => {
    const clock = await newClock();
    await sell(on, scope, { testClockId: clock });
    on.peers.clockTimes.length = 0;
    await advance(clock, '2026-06-15T00:00:00.000Z');
    expect(on.peers.clockTimes.map((time) => time.toISOString().slice(0, 10))).toEqual([
      '2026-05-01',
      '2026-06-01',
      '2026-06-15',
    ]);
  });

  it('bills nothing while checkout does not take its time, fails no job, and goes on then [D14.93]', async () => {
    const clock = await newClock();
    const { subscriptionId } = await sell(on, scope, { testClockId: clock });
    const until = new Date('2026-05-01T00:00:00.000Z');
    await on.test.admin('update billing.test_clocks set frozen_time = $2 where id = $1', [clock, until]);
    const run = () => {
      const { signal } = new AbortController();
      return runDueOnClock(on.context, scope, clock, until, { signal, wait: false });
    };
    on.peers.refusesClocks = true;
    expect([await run(), await paidPeriods(on, subscriptionId)]).toMatchObject(['stuck', { length: 1 }]);
    on.peers.refusesClocks = false;
    expect([await run(), await paidPeriods(on, subscriptionId)]).toMatchObject(['done', { length: 2 }]);
  });

  it('asks checkout for nothing while all that is due by it is held [D14.93]', async () => {
    const clock = await newClock();
    const { subscriptionId } = await sell(on, scope, { testClockId: clock });
    const until = new Date('2026-05-01T00:00:00.000Z');
    await on.test.admin('update billing.test_clocks set frozen_time = $2 where id = $1', [clock, until]);
    const hold = (time: string) =>
      on.test.admin('update billing.subscriptions set held_until = $2 where id = $1', [subscriptionId, time]);
    const { signal } = new AbortController();
    const run = () => runDueOnClock(on.context, scope, clock, until, { signal, wait: false });
    on.peers.clockTimes.length = 0;
    await hold('2026-04-01T00:01:00.000Z');
    expect([await run(), on.peers.clockTimes]).toEqual(['stuck', []]);
    await hold('2026-04-01T00:00:00.000Z');
    expect([await run(), on.peers.clockTimes]).toEqual(['done', [until]]);
  });

  it('is looked at later if checkout does not answer in its time and nothing was done, and at once if something was [D14.93]', async () => {
    const clock = await newClock();
    await sell(on, scope, { testClockId: clock });
    const until = new Date('2026-06-01T00:00:00.000Z');
    await on.test.admin('update billing.test_clocks set frozen_time = $2 where id = $1', [clock, until]);
    const { checkout } = on.context;
    const run = (answers: number) => {
      const controller = new AbortController();
      let asked = 0;
      const setTestClock: typeof checkout.setTestClock = async (...request) => {
        asked += 1;
        if (asked <= answers) return checkout.setTestClock(...request);
        controller.abort();
        throw new Failure('service_unavailable');
      };
      const context = { ...on.context, checkout: { ...checkout, setTestClock } };
      return runDueOnClock(context, scope, clock, until, { signal: controller.signal, wait: false });
    };
    expect(await run(0)).toBe('stuck');
    expect(await run(1)).toBe('stopped');
    expect(await run(1)).toBe('done');
  });

  it('is not ready while the outcome of a charge is unknown, and the job goes on with it', async () => {
    const clock = await newClock();
    const { subscriptionId } = await sell(on, scope, { testClockId: clock });
    on.peers.fail('unknown', 'unknown', 'unknown');
    const call = { ...callOf(scope), timeoutMs: () => 900 };
    const answer = await advanceTestClock(on.context, call, clock, new Date('2026-06-02T00:00:00.000Z'));
    expect(answer.status).toBe('advancing');
    for (let second = 1; second < 20; second++) {
      on.at(new Date(start.getTime() + second * 1_000));
      await finishClocks(on.context, new AbortController().signal);
    }
    expect(await findTestClock(on.database, scope, clock)).toMatchObject({ status: 'ready' });
    const { rows } = { rows: await paidPeriods(on, subscriptionId) };
    expect(rows).toEqual(['2026-04-01 3000', '2026-05-01 3000', '2026-06-01 3000']);
    expect(on.peers.taken.filter(({ invoiceId }) => invoiceId !== '').length).toBeGreaterThan(1);
  });

  it('lets those that live on it be when the wall clock passes their times', async () => {
    const clock = await newClock();
    const { subscriptionId } = await sell(on, scope, { testClockId: clock });
    on.at('2027-01-01T00:00:00.000Z');
    while (await runDueSubscriptions(on.context));
    expect(await paidPeriods(on, subscriptionId)).toHaveLength(1);
  });
});

describe('what is due', () => {
  it('is at the same time in the database as in the code, whatever a subscription looks like', async () => {
    const { subscriptionId } = await sell(on, scope);
    await on.test.admin('alter table billing.subscriptions disable trigger guard_subscription');
    const time = fc.option(
      fc.integer({ min: 1, max: 1_000 }).map((hours) => new Date(start.getTime() + hours * 3_600_000)),
      { nil: null },
    );
    const shapes = fc.record({
      status: fc.constantFrom(...subscriptionStates.states),
      cancelAt: time,
      cancelAtPeriodEnd: fc.boolean(),
      paymentAt: time,
      noticeAt: time,
      remindAt: time,
      expiresAt: time,
    });
    await fc.assert(
      fc.asyncProperty(
        shapes,
        async ({ status, cancelAt, cancelAtPeriodEnd, paymentAt, noticeAt, remindAt, expiresAt }) => {
          const payment = status === 'past_due' ? (paymentAt ?? start) : paymentAt;
          await on.test.admin(
            `update billing.subscriptions set status = $2, cancel_at = $3, cancel_at_period_end = $4, payment_at = $5, notice_at = $6,
             interval = case when $8::timestamptz is null then 'month' else 'year' end, remind_at = $8,
             expires_at = case when $2 = 'incomplete' then $7::timestamptz end, canceled_at = case when $2 = 'canceled' then now() end where id = $1`,
            [
              subscriptionId,
              status,
              cancelAt,
              cancelAtPeriodEnd,
              payment,
              status === 'trialing' ? noticeAt : null,
              expiresAt ?? start,
              remindAt,
            ],
          );
          const [row] = await on.test.admin<{ due_at: Date | null }>(
            'select due_at from billing.subscriptions where id = $1',
            [subscriptionId],
          );
          const subscription = await findSubscription(on.database, scope, subscriptionId);
          expect(row?.due_at ?? undefined).toEqual(subscription && nextStep(subscription)?.at);
        },
      ),
      { numRuns: 200 },
    );
    await on.test.admin('alter table billing.subscriptions enable trigger guard_subscription');
  });
});
