import { type Scope, withTx } from '@eligo/postgres';
import type { Job } from '@eligo/service';
import { abandonAttempt } from '../actions/abandon-attempt.ts';
import { carryOutAttempt } from '../actions/carry-out-attempt.ts';
import { carryOutCapture } from '../actions/carry-out-capture.ts';
import { carryOutPlan } from '../actions/carry-out-plan.ts';
import { finishHold } from '../actions/finish-hold.ts';
import { takeOverAttempt } from '../actions/take-over-attempt.ts';
import type { Charging } from '../charging.ts';
import { refusalByStatus } from '../domain/confirm-rules.ts';
import { findAttempt } from '../store/charge-attempts.ts';
import { type DueWork, dueChargeWork, nextChargeWorkInMs, sweepChargesJob } from '../store/charge-work.ts';
import { claimOperation } from '../store/intent-operations.ts';
import { claimPlan, lockLivePlan, savePlan } from '../store/payment-plans.ts';
import { lockSession } from '../store/sessions.ts';
import { timeOnClock } from '../store/test-clocks.ts';

// One sweep takes at most this much of each kind, so that a backlog cannot keep a stop waiting.
const mostPerKind = 20;
// At the same time: a processor that answers slowly must not make the sweep as slow as the sum of its answers.
const atOnce = 8;

// What another process gave back and did not live to sweep is found this late at the most.
const longestPauseMs = 15_000;

/** Sweeps when charge work falls due. At least once per lease it looks for leases that were taken since, and sleeps until the first of them ends. */
export function sweepDueCharges(charging: Charging): Job {
  return {
    name: sweepChargesJob,
    everyMs: Math.min(longestPauseMs, charging.budgets.leaseMs),
    async run(signal) {
      return (await sweepCharges(charging, signal)) || { dueInMs: await nextChargeWorkInMs(charging.database) };
    },
  };
}

/**
 * Resumes work that no process is working on: attempts with an unknown outcome, holds to capture or void, unfinished plans.
 * It never sends an attempt that a confirm claimed but did not send: it abandons it. A sent attempt is confirmed again only while its time to confirm lasts, and
 * canceled after that. A page's plan continues as its shopper chose, within the same time. Answers whether there may be more, as after an outage: it took all that it may of a kind, and what it did did not fail all through.
 */
export async function sweepCharges(charging: Charging, signal?: AbortSignal): Promise<boolean> {
  const work = await dueChargeWork(charging.database, mostPerKind);
  const queue = [...work];
  let done = 0;
  const workers = Array.from({ length: Math.min(atOnce, queue.length) }, async () => {
    for (let item = queue.shift(); item !== undefined && !signal?.aborted; item = queue.shift()) {
      if (await sweepOne(charging, item)) done += 1;
    }
  });
  await Promise.all(workers);
  const isFull = Object.values(Object.groupBy(work, ({ kind }) => kind)).some((some) => some.length === mostPerKind);
  return isFull && done > 0;
}

// One piece of work that fails must not keep the others from being done; it is due again after its lease.
async function sweepOne(charging: Charging, item: DueWork): Promise<boolean> {
  try {
    await sweepers[item.kind](charging, item.scope, item.id);
    return true;
  } catch (error) {
    charging.logger.error(
      { err: error, kind: item.kind, id: item.id },
      'Sweeper failed to process a charge, hold or payment plan; will retry',
    );
    return false;
  }
}

const sweepers: Record<DueWork['kind'], (charging: Charging, scope: Scope, id: string) => Promise<void>> = {
  attempt: resolveAttempt,
  abandoned: abandon,
  operation: resumeOperation,
  capture: resumeCapture,
  plan: resumePlan,
  lapsed: releaseLapsed,
};

async function resolveAttempt(charging: Charging, scope: Scope, id: string): Promise<void> {
  const attempt = await withTx(charging.database, scope, (tx) => takeOverAttempt(charging, tx, scope, id));
  if (attempt === undefined) return;
  await charging.failpoint('sweep.attempt_claimed');
  await carryOutAttempt(charging, scope, attempt, performance.now() + charging.budgets.callMs);
}

async function abandon(charging: Charging, scope: Scope, id: string): Promise<void> {
  await withTx(charging.database, scope, async (tx) => {
    // The session before its attempt, as a confirm takes them: it holds its key too, which the giving up writes last.
    const attempt = await findAttempt(tx, scope, id);
    const session = attempt?.purpose === 'session' ? await lockSession(tx, scope, attempt.subjectId) : undefined;
    const at = await timeOnClock(tx, scope, charging.clock, session?.testClockId ?? null);
    await abandonAttempt(tx, scope, id, { ended: session && refusalByStatus(session, at) });
  });
}

async function resumeOperation(charging: Charging, scope: Scope, id: string): Promise<void> {
  const { leaseMs, callMs } = charging.budgets;
  const operation = await withTx(charging.database, scope, (tx) => claimOperation(tx, scope, id, leaseMs));
  if (operation !== undefined) await finishHold(charging, scope, operation, callMs);
}

async function resumeCapture(charging: Charging, scope: Scope, id: string): Promise<void> {
  const { leaseMs, callMs } = charging.budgets;
  const operation = await withTx(charging.database, scope, (tx) => claimOperation(tx, scope, id, leaseMs));
  if (operation !== undefined) await carryOutCapture(charging, scope, operation, performance.now() + callMs);
}

async function resumePlan(charging: Charging, scope: Scope, sessionId: string): Promise<void> {
  const { leaseMs, callMs } = charging.budgets;
  const plan = await withTx(charging.database, scope, (tx) => claimPlan(tx, scope, sessionId, leaseMs));
  if (plan !== undefined) await carryOutPlan(charging, scope, plan, performance.now() + callMs);
}

// The second card did not come: void the health card's hold and keep the session open.
async function releaseLapsed(charging: Charging, scope: Scope, sessionId: string): Promise<void> {
  const { leaseMs, callMs } = charging.budgets;
  const plan = await withTx(charging.database, scope, async (tx) => {
    await lockSession(tx, scope, sessionId);
    const live = await lockLivePlan(tx, scope, sessionId);
    if (live?.plan.state !== 'awaiting_second_card') return undefined;
    return savePlan(tx, scope, { ...live.plan, state: 'releasing', releaseAt: null }, leaseMs);
  });
  if (plan !== undefined) await carryOutPlan(charging, scope, plan, performance.now() + callMs);
}
