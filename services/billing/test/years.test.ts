import type { Scope } from '@eligo/postgres';
import { armFailpoint, FailpointError, turnFailpointsOff, turnFailpointsOn } from '@eligo/service';
import { type Interval, periodStart } from '@eligo/values';
import fc from 'fast-check';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { advanceTestClock, createTestClock } from '../src/actions/test-clocks.ts';
import type { Context } from '../src/context.ts';
import { finishClocks } from '../src/jobs/finish-clocks.ts';
import { runDueSubscriptions } from '../src/jobs/run-due.ts';
import { findTestClock } from '../src/store/test-clocks.ts';
import { callOf, type Fixture, openFixture, paidPeriods, type Sold, sell, someScope, start } from './fixture.ts';

const isLong = process.env.ELIGO_TEST_LONG === 'on';
/** How many live on test clocks, how many by the wall clock, and for how long. */
const size = isLong
  ? { clocks: 25, onEachClock: 20, byWallClock: 500, months: 36 }
  : { clocks: 1, onEachClock: 12, byWallClock: 8, months: 12 };
const patienceMs = isLong ? 4 * 3_600_000 : 300_000;
// The short form is the same each time; the long one differs from run to run and says its seed.
const seed = Number(process.env.ELIGO_TEST_SEED) || (isLong ? Date.now() % 2 ** 31 : 1);

const hourMs = 3_600_000;
// The anchors are at midnight; what is asked again later is settled before the next midnight.
const end = new Date(periodStart(start, { interval: 'month', intervalCount: 1 }, size.months).getTime() + hourMs);
/** Shorter than dunning, so that a card which declines in one step and pays in the next loses no subscription. */
const stepMs = 72 * hourMs;
/** The last retry of an invoice is so long after the first decline: nothing goes wrong in this time before the end. */
const dunningMs = 8 * 24 * hourMs;

/** What goes wrong in a step. */
interface Trouble {
  readonly faults: readonly ('lost_before' | 'lost_after' | 'unknown' | 'down' | 'not_now')[];
  /** A failpoint whose step fails at its pass number `skip` + 1. */
  readonly point: string;
  readonly skip: number;
  /** Cards that decline: those whose place has this remainder by seven. */
  readonly declining: number;
  /** The wall clock goes ahead by so much, and back. */
  readonly aheadHours: number;
}

const trouble: fc.Arbitrary<Trouble> = fc.record({
  faults: fc.array(fc.constantFrom('lost_before', 'lost_after', 'unknown', 'down', 'not_now'), { maxLength: 4 }),
  point: fc.constantFrom(
    'renewal.resolved',
    'renewal.invoiced',
    'invoice_charge.begun',
    'invoice_charge.answered',
    'invoice_charge.recorded',
    'invoice_charge.before_commit',
  ),
  skip: fc.nat(6),
  declining: fc.nat(6),
  aheadHours: fc.nat(48),
});

/** A subscription and what its model bills: so many cents for each period after the first. */
interface Kept {
  readonly of: Sold;
  readonly cents: number;
  readonly rhythm: { readonly interval: Interval; readonly intervalCount: number };
  readonly anchor: Date;
}

let on: Fixture;
let second: Context;
let scope: Scope;

beforeAll(async () => {
  on = await openFixture();
  second = on.another();
});
afterAll(() => on.close());
beforeEach(() => {
  on.at(start);
  scope = someScope();
  turnFailpointsOn();
});
afterEach(() => turnFailpointsOff());

describe(`subscriptions over ${size.months} months with lost calls, declines and failing steps (seed ${seed})`, () => {
  it(
    `on test clocks are billed once for each period, to the cent: ${size.clocks * size.onEachClock} of them [D14.93]`,
    async () => {
      for (let place = 0; place < size.clocks; place++) {
        scope = someScope();
        const clock = await createTestClock(on.context, callOf(scope), { frozenTime: start, name: null });
        const kept = await sellMany(size.onEachClock, clock.id);
        const asked = on.peers.asked;
        for (const { to, ...what } of steps(seed + place)) {
          await inTrouble(kept, what, () => advance(clock.id, to));
        }
        await booksAgree(kept);
        expect(on.peers.asked - asked).toBeGreaterThan(size.onEachClock);
      }
    },
    patienceMs,
  );

  it(
    `by the wall clock, which goes ahead and back, are billed once for each period by two instances: ${size.byWallClock} of them`,
    async () => {
      const kept = await sellMany(size.byWallClock);
      for (const { to, ...what } of steps(seed)) {
        await inTrouble(kept, what, async () => {
          on.at(new Date(Math.min(to.getTime() + what.aheadHours * hourMs, end.getTime())));
          await runAllDue();
          on.at(to);
          await runAllDue();
          // What is due is renewed, but for what failed now: that is asked again in its turn, after a pause of a minute at most.
          expect(await heldLater(to, new Date(to.getTime() + 61_000))).toBe(0);
        });
      }
      for (let at = end.getTime(); (await howManyDue(at)) > 0; at += hourMs / 6) {
        if (at > end.getTime() + 20 * hourMs) throw new Error('some subscriptions stay due');
        on.at(new Date(at));
        await runAllDue();
      }
      await booksAgree(kept);
    },
    patienceMs,
  );
});

function steps(planSeed: number): (Trouble & { to: Date })[] {
  const times: Date[] = [];
  for (let at = start.getTime() + stepMs; at < end.getTime(); at += stepMs) times.push(new Date(at));
  times.push(end);
  const troubles = fc.sample(trouble, { seed: planSeed, numRuns: times.length });
  const { faults, declining } = { faults: [], declining: -1 };
  return times.map((to, n) => {
    const now = troubles[n] as Trouble;
    // What declines pays in the next step, and the last steps are quiet: every retry has been made at the end.
    if (to.getTime() > end.getTime() - dunningMs) return { ...now, faults, declining, to };
    return { ...now, ...(now.declining === troubles[n - 1]?.declining ? { declining } : {}), to };
  });
}

async function sellMany(many: number, testClockId?: string): Promise<Kept[]> {
  const intervals: readonly Interval[] = ['week', 'month', 'month', 'month', 'year'];
  const kept: Kept[] = [];
  for (let i = 0; i < many; i++) {
    const rhythm = { interval: intervals[i % intervals.length] ?? 'month', intervalCount: 1 + (i % 3) };
    // The first period has begun and not ended at the start.
    const daysAgo = i % (rhythm.interval === 'week' ? 7 : 28);
    const anchor = new Date(start.getTime() - daysAgo * 24 * hourMs);
    const isMixed = i % 2 === 0;
    const items = [
      { ...rhythm, unitAmountCents: 700 + i, taxCents: i },
      ...(isMixed ? [{ ...rhythm, unitAmountCents: 900, eligibility: 'not_eligible' }] : []),
    ];
    const of = await sell(on, scope, {
      ...(testClockId === undefined ? {} : { testClockId }),
      ...{ at: anchor, items },
      ...(isMixed ? { backup: on.peers.card(false) } : {}),
    });
    kept.push({ of, cents: 2 * (700 + i) + i + (isMixed ? 1_800 : 0), rhythm, anchor });
  }
  return kept;
}

async function inTrouble(kept: readonly Kept[], what: Trouble, act: () => Promise<void>): Promise<void> {
  const declining = kept.filter((_, place) => place % 7 === what.declining).map(({ of }) => of.card);
  for (const card of declining) on.peers.behave(card, 'insufficient_funds');
  on.peers.fail(...what.faults);
  armFailpoint(what.point, { action: 'error', skip: what.skip });
  await act();
  for (const card of declining) on.peers.behave(card, 'pays');
}

async function advance(clockId: string, to: Date): Promise<void> {
  try {
    await advanceTestClock(on.context, { ...callOf(scope), timeoutMs: () => 550 }, clockId, to);
  } catch (error) {
    if (!(error instanceof FailpointError)) throw error;
  }
  for (let tries = 0; (await findTestClock(on.database, scope, clockId))?.status !== 'ready'; tries++) {
    if (tries > 50) throw new Error('the clock does not become ready');
    on.at(new Date(on.context.clock.now().getTime() + 30_000));
    await finishClocks(on.context, new AbortController().signal);
  }
}

async function runAllDue(): Promise<void> {
  for (let more = true; more; ) {
    more = (await Promise.all([runDueSubscriptions(on.context), runDueSubscriptions(second)])).includes(true);
  }
}

async function howManyDue(at: number): Promise<number> {
  const [row] = await on.test.admin<{ n: bigint }>(
    'select count(*) as n from billing.subscriptions where account_id = $1 and due_at <= $2',
    [scope.accountId, new Date(at)],
  );
  return Number(row?.n);
}

/** How many are due by a time, and are held until after another one. */
async function heldLater(due: Date, until: Date): Promise<number> {
  const rows = await on.test.admin(
    'select from billing.subscriptions where account_id = $1 and due_at <= $2 and held_until > $3',
    [scope.accountId, due, until],
  );
  return rows.length;
}

async function booksAgree(kept: readonly Kept[]): Promise<void> {
  let total = 0;
  for (const { of, cents, rhythm, anchor } of kept) {
    const expected: string[] = [];
    for (let n = 1; periodStart(anchor, rhythm, n) <= end; n++) {
      expected.push(`${periodStart(anchor, rhythm, n).toISOString().slice(0, 10)} ${cents}`);
      total += cents;
    }
    expect((await paidPeriods(on, of.subscriptionId)).slice(1)).toEqual(expected);
  }
  const invoices = await on.test.admin<{ id: string }>('select id from billing.invoices where account_id = $1', [
    scope.accountId,
  ]);
  const ids = new Set(invoices.map(({ id }) => id));
  const taken = on.peers.taken.filter(({ invoiceId }) => ids.has(invoiceId));
  expect(taken.reduce((sum, { amountCents }) => sum + amountCents, 0)).toBe(total);
  // Each leg of an invoice was taken once.
  expect(new Set(taken.map(({ invoiceId, leg }) => `${invoiceId} ${leg}`)).size).toBe(taken.length);
}
