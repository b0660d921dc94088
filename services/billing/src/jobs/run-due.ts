import { maxGroupSize, type Scope, unscoped } from '@eligo/postgres';
import type { Job } from '@eligo/service';
import { holdUntil } from '../actions/hold-until.ts';
import { runDueOnClock } from '../actions/run-due-on-clock.ts';
import { runDueSteps } from '../actions/run-due-steps.ts';
import { runDueJob } from '../actions/wake-when-due.ts';
import { boundedSignal } from '../bounded-signal.ts';
import type { Context } from '../context.ts';
import { type AdaptivePlaces, openAdaptivePlaces, openPlaces, type Places } from '../places.ts';
import {
  claimDue,
  claimDueOfAccounts,
  type DueSubscription,
  freeFalseHolds,
  nextDueAt,
} from '../store/due-subscriptions.ts';

// One look takes as many as fill two groups. A process works on four groups at a time, each of one account: some write while the others wait for the processor.
const mostAtOnce = 2 * maxGroupSize;
const atOnce = 4 * maxGroupSize;
// Charges at a time. A processor that takes 200 ms, and is asked twice for each, charges forty a second, which leaves the machine to what customers ask for. Where all
// of a charge takes less than 250 ms, processor and machine can do more.
const chargesAtOnce = { least: maxGroupSize, most: 3 * maxGroupSize, fastMs: 250 };
// When a look finds as many as it may take, accounts with fewer due are given their turn: so many accounts in a look, and so many of each.
const accountsAtOnce = 50;
const eachOfThem = maxGroupSize;
// A look begins once all groups of the one before have begun, so that no place stands empty between them. After so many, the run waits for its last group.
const looksOfRun = 10;
// Test clocks looked at in a run, some three index entries each; the next run goes on behind the last, and begins anew after all of them. A clock that
// moves does what is due by it itself: this finds who lives on one that was deleted, or came to one that was past their time already.
const clocksAtOnce = 500;
// A run that goes on takes no more than this of one clock: the others wait.
const clockRunMs = 2_000;
// One that waits for its account's share is looked at again after this.
const clockHeldMs = 1_000;

/** Where the looks over accounts and clocks go on. */
export interface DuePlace {
  account?: Scope;
  /** When the last look was. */
  lookedAt?: Date;
  clock?: { readonly scope: Scope; readonly id: string };
  /** A clock of the last look waits for its account's share of the process. */
  isClockHeld?: boolean;
}

/** Does what is due for subscriptions: ends them, announces ends of trials, renews them, and charges what they owe. */
export function runDue(context: Context): Job {
  const place: DuePlace = {};
  // How fast the processor is stays known from run to run.
  const charges = openAdaptivePlaces(chargesAtOnce);
  const places = openPlaces(atOnce);
  return {
    name: runDueJob,
    // A commit wakes the job when something is due; this finds what a crash has left, and who lived on a test clock that was deleted.
    everyMs: 15_000,
    run: async (signal) =>
      (await runLooks(context, place, { charges, places, signal }, looksOfRun)) || {
        dueInMs: await nextInMs(context, place),
      },
  };
}

// From the last look on: what was given back while its groups ended may be due already.
async function nextInMs(
  { database, clock }: Context,
  { isClockHeld, lookedAt }: DuePlace,
): Promise<number | undefined> {
  const now = clock.now();
  const at = await nextDueAt(database, lookedAt === undefined || lookedAt > now ? now : lookedAt);
  const waits = [
    ...(isClockHeld === true ? [clockHeldMs] : []),
    ...(at === undefined ? [] : [at.getTime() - now.getTime()]),
  ];
  return waits.length === 0 ? undefined : Math.min(...waits);
}

/** What the looks of a run share. */
interface DueWork {
  readonly charges: AdaptivePlaces;
  readonly places: Places;
  readonly signal: AbortSignal;
}

/** One look at what is due, the longest due first, to its end. True when there may be more. */
export function runDueSubscriptions(
  context: Context,
  signal: AbortSignal = new AbortController().signal,
  place: DuePlace = {},
): Promise<boolean> {
  const work = { charges: openAdaptivePlaces(chargesAtOnce), places: openPlaces(atOnce), signal };
  return runLooks(context, place, work, 1);
}

/**
 * Looks at what is due until nothing is, so many times at most, and at test clocks beside that. Ends when all that it began has ended, also where some of it failed. True when there
 * may be more.
 */
async function runLooks(context: Context, place: DuePlace, work: DueWork, mostLooks: number): Promise<boolean> {
  const groups: Promise<PromiseSettledResult<boolean>>[] = [];
  const lookOn = async () => {
    let isMore = false;
    for (let looks = 0; looks < mostLooks && !work.signal.aborted; looks++) {
      const look = await beginLook(context, place, work);
      groups.push(...look.groups.map(({ done }) => settled(done)));
      if (look.isMore) isMore = true;
      // One that is not full has seen all that is due.
      if (look.claimed < mostAtOnce) break;
      await Promise.all(look.groups.map(({ begun }) => begun));
    }
    return isMore;
  };
  const ofClocks = settled(runOnClocks(context, place, work.signal));
  const ofLooks = await settled(lookOn());
  const results = [ofLooks, await ofClocks, ...(await Promise.all(groups))];
  const failures = results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []));
  for (const error of failures.slice(1)) context.logger.error({ err: error, job: runDueJob }, 'Job failed in part');
  if (failures.length > 0) throw failures[0];
  // What was done may have made the next thing due at once: after an outage, the next period.
  return results.some((result) => result.status === 'fulfilled' && result.value);
}

async function settled(work: Promise<boolean>): Promise<PromiseSettledResult<boolean>> {
  const [result] = await Promise.allSettled([work]);
  return result;
}

/** A look at what is due. */
interface Look {
  readonly claimed: number;
  readonly isMore: boolean;
  readonly groups: readonly RunningGroup[];
}

/** Subscriptions of one account that are worked on together. */
interface RunningGroup {
  /** Resolves when it has its places. */
  readonly begun: Promise<void>;
  /** Whether something was done for one of them. */
  readonly done: Promise<boolean>;
}

async function beginLook(context: Context, place: DuePlace, work: DueWork): Promise<Look> {
  const times = { at: context.clock.now(), until: holdUntil(context) };
  place.lookedAt = times.at;
  const freed = await freeFalseHolds(context.database, times.at, mostAtOnce);
  if (freed > 0) {
    context.logger.warn({ count: freed }, 'Wall clock was set back; freed subscriptions that were held until later');
  }
  const due = await claimDue(context.database, times.at, times.until, mostAtOnce);
  if (due.length === mostAtOnce) {
    const pages = { accounts: accountsAtOnce, each: eachOfThem };
    const others = await claimDueOfAccounts(context.database, times, pages, place.account);
    if (others.last === undefined) delete place.account;
    else place.account = others.last;
    due.push(...others.due);
  }
  return {
    claimed: due.length,
    isMore: freed === mostAtOnce,
    groups: groupsOf(due).map((group) => runGroup(context, group, times.until, work)),
  };
}

function runGroup(
  context: Context,
  { scope, ids }: DueGroup,
  until: Date,
  { charges, places, signal }: DueWork,
): RunningGroup {
  const { checkout } = context;
  // Only calls to checkout say how fast the processor is: a step that charges nothing ends at once.
  const measuring: Context = {
    ...context,
    checkout: {
      ...checkout,
      chargeInvoice: (request, call) => charges.measure(() => checkout.chargeInvoice(request, call)),
    },
  };
  const begun = Promise.withResolvers<void>();
  const done = places.use(ids.length, async (onGivenBack) => {
    begun.resolve();
    // Behind a slow processor: another process may have taken them since.
    if (signal.aborted || context.clock.now() >= until) return false;
    return (await runDueSteps(measuring, scope, ids, { pace: context.pace, charges, until, onGivenBack })) > 0;
  });
  return { begun: begun.promise, done };
}

interface DueGroup {
  readonly scope: Scope;
  readonly ids: string[];
}

// What is due of an account, in groups in the order of their first one: none is later than it would be alone.
function groupsOf(due: readonly DueSubscription[]): DueGroup[] {
  const groups: DueGroup[] = [];
  const open = new Map<string, DueGroup>();
  for (const { scope, id } of due) {
    const key = `${scope.accountId} ${scope.testMode}`;
    const known = open.get(key);
    if (known !== undefined && known.ids.length < maxGroupSize) {
      known.ids.push(id);
      continue;
    }
    const group = { scope, ids: [id] };
    groups.push(group);
    open.set(key, group);
  }
  return groups;
}

interface ClockRow {
  readonly account_id: string;
  readonly test_mode: boolean;
  readonly id: string;
  readonly due_until: Date;
  readonly is_due: boolean;
}

const clocks = unscoped<ClockRow>(
  'subscriptions.clocks_of_due',
  'select account_id, test_mode, id, due_until, is_due from clocks_of_due_subscriptions($1, $2, $3, $4, $5)',
);

async function runOnClocks(context: Context, place: DuePlace, signal: AbortSignal): Promise<boolean> {
  const { scope, id } = place.clock ?? { scope: { accountId: '', testMode: false }, id: '' };
  const rows = await context.database.rows(clocks, null, [
    ...[context.clock.now(), clocksAtOnce],
    ...[scope.accountId, scope.testMode, id],
  ]);
  let isMore = false;
  place.isClockHeld = false;
  for (const row of rows) {
    if (signal.aborted) return false;
    if (!row.is_due) continue;
    const of = { accountId: row.account_id, testMode: row.test_mode };
    const bounded = boundedSignal(signal, clockRunMs);
    const progress = await runDueOnClock(context, of, row.id, row.due_until, { signal: bounded, wait: false });
    if (progress === 'stopped') isMore = true;
    if (progress === 'held') place.isClockHeld = true;
  }
  const last = rows.length < clocksAtOnce ? undefined : rows.at(-1);
  if (last === undefined) delete place.clock;
  else place.clock = { scope: { accountId: last.account_id, testMode: last.test_mode }, id: last.id };
  return isMore;
}
