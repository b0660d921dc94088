import { type Scope, withTx } from '@eligo/postgres';
import type { Recovery } from '@eligo/processor';
import { eachAtOnce, type Job } from '@eligo/service';
import { given } from '@eligo/values';
import { abandonAttempt } from '../actions/abandon-attempt.ts';
import { carryOutAttempt } from '../actions/carry-out-attempt.ts';
import { carryOutCapture } from '../actions/carry-out-capture.ts';
import { carryOutPlan } from '../actions/carry-out-plan.ts';
import { finishHold } from '../actions/finish-hold.ts';
import { takeOverAttempt } from '../actions/take-over-attempt.ts';
import type { Context } from '../context.ts';
import { refusalByStatus } from '../domain/confirm-rules.ts';
import { findAttempt } from '../store/charge-attempts.ts';
import {
  type DueWork,
  dueChargeWork,
  dueChargeWorkOfAccounts,
  nextChargeWorkInMs,
  sweepChargesJob,
  wakeChargeWork,
} from '../store/charge-work.ts';
import { claimOperation } from '../store/intent-operations.ts';
import { claimPlan, lockLivePlan, savePlan } from '../store/payment-plans.ts';
import { lockSession } from '../store/sessions.ts';
import { timeOnClock } from '../store/test-clocks.ts';

// One sweep takes at most this much of each kind, so that a backlog cannot keep a stop waiting.
const mostPerKind = 20;
// When a sweep finds as many of a kind as it may take, other accounts are given their turn: so many accounts in a sweep, and so many of each kind of each.
const turn = { accounts: 20, each: 1 };
// At the same time: a processor that answers slowly must not make the sweep as slow as the sum of its answers.
const atOnce = 8;

// Of each kind, once for each recovery. More do not wait for long in an outage: the breaker refuses new payments. The others come within five minutes.
const mostWoken = 1_000;

// What another process gave back and did not live to sweep is found this late at the most.
const longestPauseMs = 15_000;

/** Where the turns of accounts go on. */
export interface ChargeWorkPlace {
  account?: Scope;
}

/** Sweeps when charge work falls due, and what waits at once when the processor is back. At least once per lease it looks for leases that were taken since, and sleeps until the first of them ends. */
export function sweepDueCharges(context: Context, recovery?: Recovery): Job {
  const place: ChargeWorkPlace = {};
  return {
    name: sweepChargesJob,
    everyMs: Math.min(longestPauseMs, context.budgets.leaseMs),
    async run(signal) {
      await recovery?.act((agoMs) => wakeChargeWork(context.database, agoMs, mostWoken));
      return (await sweepCharges(context, signal, place)) || { dueInMs: await nextChargeWorkInMs(context.database) };
    },
  };
}

/**
 * Resumes work that no process is working on: attempts with an unknown outcome, holds to capture or void, unfinished plans.
 * It never sends an attempt that a confirm claimed but did not send: it abandons it. A sent attempt is confirmed again only while its time to confirm lasts, and
 * canceled after that. A page's plan continues as its shopper chose, within the same time. Answers whether there may be more, as after an outage: it took all that it may of a kind, and what it did did not fail all through.
 */
export async function sweepCharges(
  context: Context,
  signal?: AbortSignal,
  place: ChargeWorkPlace = {},
): Promise<boolean> {
  const oldest = await dueChargeWork(context.database, mostPerKind);
  const isFull = Object.values(Object.groupBy(oldest, ({ kind }) => kind)).some((some) => some.length === mostPerKind);
  const work = isFull ? [...(await workOfOthers(context, place, oldest)), ...oldest] : oldest;
  let done = 0;
  await eachAtOnce(work, { atOnce, ...given({ signal }) }, async (item) => {
    if (await sweepOne(context, item)) done += 1;
  });
  return isFull && done > 0;
}

// Behind a backlog, which may be of one account alone and of its slow processor.
async function workOfOthers({ database }: Context, place: ChargeWorkPlace, oldest: DueWork[]): Promise<DueWork[]> {
  const { work, last } = await dueChargeWorkOfAccounts(database, place.account, turn);
  if (last === undefined) delete place.account;
  else place.account = last;
  const taken = new Set(oldest.map(({ id }) => id));
  return work.filter(({ id }) => !taken.has(id));
}

// One piece of work that fails must not keep the others from being done; it is due again after its lease.
async function sweepOne(context: Context, item: DueWork): Promise<boolean> {
  try {
    await sweepers[item.kind](context, item.scope, item.id);
    return true;
  } catch (error) {
    context.logger.error(
      { err: error, kind: item.kind, id: item.id },
      'Sweeper failed to process a charge, hold or payment plan; will retry',
    );
    return false;
  }
}

const sweepers: Record<DueWork['kind'], (context: Context, scope: Scope, id: string) => Promise<void>> = {
  attempt: resolveAttempt,
  abandoned: abandon,
  operation: resumeOperation,
  capture: resumeCapture,
  plan: resumePlan,
  lapsed: releaseLapsed,
};

async function resolveAttempt(context: Context, scope: Scope, id: string): Promise<void> {
  const attempt = await withTx(context.database, scope, (tx) => takeOverAttempt(context, tx, scope, id));
  if (attempt === undefined) return;
  await context.failpoint('sweep.attempt_claimed');
  await carryOutAttempt(context, scope, attempt, performance.now() + context.budgets.callMs);
}

async function abandon(context: Context, scope: Scope, id: string): Promise<void> {
  await withTx(context.database, scope, async (tx) => {
    // The session before its attempt, as a confirm takes them: it holds its key too, which the giving up writes last.
    const attempt = await findAttempt(tx, scope, id);
    const session = attempt?.purpose === 'session' ? await lockSession(tx, scope, attempt.subjectId) : undefined;
    const at = await timeOnClock(tx, scope, context.clock, session?.testClockId ?? null);
    await abandonAttempt(tx, scope, id, { ended: session && refusalByStatus(session, at) });
  });
}

async function resumeOperation(context: Context, scope: Scope, id: string): Promise<void> {
  const { leaseMs, callMs } = context.budgets;
  const operation = await withTx(context.database, scope, (tx) => claimOperation(tx, scope, id, leaseMs));
  if (operation !== undefined) await finishHold(context, scope, operation, callMs);
}

async function resumeCapture(context: Context, scope: Scope, id: string): Promise<void> {
  const { leaseMs, callMs } = context.budgets;
  const operation = await withTx(context.database, scope, (tx) => claimOperation(tx, scope, id, leaseMs));
  if (operation !== undefined) await carryOutCapture(context, scope, operation, performance.now() + callMs);
}

async function resumePlan(context: Context, scope: Scope, sessionId: string): Promise<void> {
  const { leaseMs, callMs } = context.budgets;
  const plan = await withTx(context.database, scope, (tx) => claimPlan(tx, scope, sessionId, leaseMs));
  if (plan !== undefined) await carryOutPlan(context, scope, plan, performance.now() + callMs);
}

// The second card did not come: void the health card's hold and keep the session open.
async function releaseLapsed(context: Context, scope: Scope, sessionId: string): Promise<void> {
  const { leaseMs, callMs } = context.budgets;
  const plan = await withTx(context.database, scope, async (tx) => {
    await lockSession(tx, scope, sessionId);
    const live = await lockLivePlan(tx, scope, sessionId);
    // Since it was found, another plan may wait in its place.
    if (live?.plan.state !== 'awaiting_second_card' || !live.hasLapsed) return undefined;
    return savePlan(tx, scope, { ...live.plan, state: 'releasing', releaseAt: null }, leaseMs);
  });
  if (plan !== undefined) await carryOutPlan(context, scope, plan, performance.now() + callMs);
}
