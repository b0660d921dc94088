import { AsyncLocalStorage } from 'node:async_hooks';
import { Failure } from '@eligo/failures';
import { findKey, type KeyUse, keyInUse, releaseKey, type Scope, usableOrThrow, withTx } from '@eligo/postgres';
import type { ProcessorPort } from '@eligo/processor';
import type { ConfirmSessionResponse } from '@eligo/proto/checkout/v1/checkout';
import { isId } from '@eligo/values';
import type { Context } from '../context.ts';
import { arePaymentLocksHeld } from '../store/payment-locks.ts';
import { loadSession } from '../store/sessions.ts';
import { carryOutAttempt } from './carry-out-attempt.ts';
import { type ChargeClaim, type Claimed, type ConfirmRequest, contended, NeedsPlan } from './charge-claim.ts';
import { replayAnswer } from './confirm-answer.ts';
import { confirmInParts } from './confirm-in-parts.ts';
import type { PaymentTurn } from './payment-turn.ts';
import type { SettledAttempt } from './settle-attempt.ts';

/**
 * Charges the eligible part of a session, once, whatever the keys and crashes (interface, confirm; decisions 7). Claim and reserve in one
 * transaction, send with none open, settle in one transaction. What this process does not finish, a retry with the same key or the sweeper
 * does. Throws a Failure for every refusal; those that are final are stored under the key and given again.
 */
export async function confirmSession(
  context: Context,
  scope: Scope,
  request: ConfirmRequest,
): Promise<ConfirmSessionResponse> {
  if (request.captureMethod !== null && request.captureMethod !== 'automatic') {
    throw new Failure('manual_capture_not_supported');
  }
  // Nothing can be known under a key of such a path, so it may be said before the key is looked up.
  if (!isId('checkout_session', request.sessionId)) throw new Failure('checkout_session_not_found');
  await context.failpoint('confirm.before_claim');
  const use: KeyUse = {
    endpoint: `POST /v1/checkout/sessions/${request.sessionId}/confirm`,
    key: request.key,
    requestHash: request.requestHash,
    otherRequest: 'refuse',
  };
  const processor = await processorOf(context, scope, request.sessionId);
  const replayed = processor.isDown() ? await replayOrRefuse(context, scope, use) : undefined;
  if (replayed !== undefined) return replayed;
  const { turns } = context;
  const inFlight = JSON.stringify([scope.accountId, scope.testMode, use.endpoint, use.key]);
  const startedAtMs = performance.now();
  const sinceMs = turns.keysInUse.get(inFlight);
  // A request that has stalled for longer than its lease no longer has the key.
  if (sinceMs !== undefined && startedAtMs - sinceMs < context.budgets.leaseMs) {
    const known = await answerOfKey(context, scope, use);
    if (known !== undefined) return known;
    // Neither request has claimed the key yet.
    throw keyInUse();
  }
  turns.keysInUse.set(inFlight, startedAtMs);
  try {
    return await confirmInLine(context, scope, request, use, processor);
  } finally {
    if (turns.keysInUse.get(inFlight) === startedAtMs) turns.keysInUse.delete(inFlight);
  }
}

// The place in the line is taken before the key is looked up, so that the order is that in which the requests came.
async function confirmInLine(
  context: Context,
  scope: Scope,
  request: ConfirmRequest,
  use: KeyUse,
  { account: ofNewMoney, asksForParts }: ProcessorPort,
): Promise<ConfirmSessionResponse> {
  const { turns, budgets } = context;
  const isBusy = request.paymentMethodId !== null && turns.isBusy(scope, request.paymentMethodId);
  let turn: PaymentTurn;
  try {
    turn = turns.enter(scope, request.paymentMethodId, budgets);
  } catch (error) {
    const known = await answerOfKey(context, scope, use);
    if (known !== undefined) return known;
    throw error;
  }
  const acceptsPart = request.acceptsPart === true && asksForParts;
  const confirm = { request, use, turn, ofNewMoney, acceptsPart };
  try {
    const known = isBusy ? await answerOfKey(context, scope, use) : undefined;
    if (known !== undefined) return known;
    const inParts = acceptsPart ? await confirmInParts(context, scope, confirm) : undefined;
    return inParts ?? (await confirmInTurn(context, scope, confirm));
  } catch (error) {
    if (!(error instanceof NeedsPlan)) throw error;
    const planned = await confirmInParts(context, scope, confirm);
    // The plan has ended meanwhile.
    if (planned === undefined) throw contended();
    return planned;
  } finally {
    turn.leave();
  }
}

// A key that is finished or in use does not wait in line.
async function answerOfKey(context: Context, scope: Scope, use: KeyUse): Promise<ConfirmSessionResponse | undefined> {
  const known = await findKey(context.database, scope, use);
  const usable = known && usableOrThrow(known);
  return usable?.outcome === 'finished' ? replayAnswer(usable.answer, true) : undefined;
}

async function confirmInTurn(context: Context, scope: Scope, confirmed: ChargeClaim): Promise<ConfirmSessionResponse> {
  const { callMs } = context.budgets;
  const { use, turn } = confirmed;
  const claim = { ...confirmed, inContext: AsyncLocalStorage.snapshot() };
  const claimed = await turn.take(
    () => context.groups.claims.submit(scope, claim),
    (wanted) => arePaymentLocksHeld(context.database, scope, wanted),
  );
  if (claimed.kind === 'answer') return replayAnswer(claimed.answer, claimed.replayed);
  turn.charge();
  await context.failpoint('confirm.claimed');

  const callsEndMs = Math.min(performance.now() + callMs, turn.deadlineMs);
  const settled = await carryOutOrRelease(context, scope, use, claimed, callsEndMs);
  if (settled === undefined) {
    await withTx(context.database, scope, (tx) => releaseKey(tx, scope, use, claimed.epoch));
    await context.failpoint('confirm.key_released');
    throw keyInUse();
  }
  if (settled.answer !== undefined) return replayAnswer(settled.answer, false);
  const stored = await findKey(context.database, scope, use);
  if (stored?.outcome !== 'finished') throw keyInUse();
  return replayAnswer(stored.answer, false);
}

// A failure here leaves the outcome unknown and releases both leases, so that a retry with the same key can continue at once.
async function carryOutOrRelease(
  context: Context,
  scope: Scope,
  use: KeyUse,
  { attempt, epoch, claimed }: Extract<Claimed, { kind: 'attempt' }>,
  deadlineMs: number,
): Promise<SettledAttempt | undefined> {
  try {
    return await carryOutAttempt(context, scope, attempt, deadlineMs, claimed);
  } catch (error) {
    try {
      await withTx(context.database, scope, (tx) => releaseKey(tx, scope, use, epoch));
    } catch (cause) {
      context.logger.warn(
        { err: cause, attemptId: attempt.id },
        'Failed to release the lease of an idempotency key; it stays in use until the lease expires',
      );
    }
    throw error;
  }
}

// A replay must work while the processor is down; any other request is refused with Retry-After before a row is written.
async function replayOrRefuse(context: Context, scope: Scope, use: KeyUse): Promise<ConfirmSessionResponse> {
  const known = await answerOfKey(context, scope, use);
  if (known !== undefined) return known;
  throw new Failure('lock_timeout', { retryAfterSeconds: 5 });
}

// That no processor serves this mode must not tell a foreign session from one that does not exist.
async function processorOf(context: Context, scope: Scope, sessionId: string): Promise<ProcessorPort> {
  try {
    return context.processors.of(scope);
  } catch (error) {
    if ((await loadSession(context.database, scope, sessionId)) === undefined) {
      throw new Failure('checkout_session_not_found');
    }
    throw error;
  }
}
