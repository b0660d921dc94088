import { Failure } from '@eligo/failures';
import {
  type Claim,
  claimKey,
  findKey,
  finishKey,
  type KeyUse,
  linkAttempt,
  releaseKey,
  type Scope,
  type StoredAnswer,
  type Tx,
  withTx,
} from '@eligo/postgres';
import type { ProcessorPort } from '@eligo/processor';
import type { ConfirmSessionResponse } from '@eligo/proto/checkout/v1/checkout';
import { isId, newId } from '@eligo/values';
import type { Charging } from '../charging.ts';
import type { ChargeAttempt } from '../domain/charge-attempt.ts';
import { refusalByStatus, refusalToConfirm } from '../domain/confirm-rules.ts';
import { minimumChargeCents } from '../domain/payment-plan.ts';
import type { Session } from '../domain/session.ts';
import { findAttempt, liveAttempts, type NewAttempt } from '../store/charge-attempts.ts';
import { arePaymentLocksHeld, takePaymentLocks } from '../store/payment-locks.ts';
import { type ChargeableCard, loadChargeFacts } from '../store/session-payments.ts';
import { loadSession, lockSession } from '../store/sessions.ts';
import { timeOnClock } from '../store/test-clocks.ts';
import { abandonAttempt } from './abandon-attempt.ts';
import { attemptAsCreated, beginLockedAttempt, confirmTimeMs, healthcareOf } from './begin-attempt.ts';
import { carryOutAttempt } from './carry-out-attempt.ts';
import { confirmAnswer, refusalAnswer, replayAnswer } from './confirm-answer.ts';
import { finishPaidSession } from './pay-session.ts';
import { NotItsTurn, type PaymentTurn } from './payment-turn.ts';
import type { SettledAttempt } from './settle-attempt.ts';
import type { ClaimedCharge } from './settle-confirmed.ts';
import { takeOverAttempt } from './take-over-attempt.ts';

/** A request to charge the eligible part of a session. */
export interface ConfirmRequest {
  readonly sessionId: string;
  readonly paymentMethodId: string | null;
  readonly captureMethod: string | null;
  readonly expand: readonly string[];
  readonly features: readonly string[];
  readonly key: string;
  readonly requestHash: Buffer;
}

type Claimed =
  | { readonly kind: 'answer'; readonly answer: StoredAnswer; readonly replayed: boolean }
  | {
      readonly kind: 'attempt';
      readonly attempt: ChargeAttempt;
      readonly epoch: number;
      /** Undefined for an attempt that an earlier request began. */
      readonly claimed?: ClaimedCharge;
    };

const inUse = () => new Failure('idempotency_key_in_use', { retryAfterSeconds: 1 });
const contended = () => new Failure('lock_timeout', { retryAfterSeconds: 1 });

/**
 * Charges the eligible part of a session, once, whatever the keys and crashes (interface, confirm; decisions 7). Claim and reserve in one
 * transaction, send with none open, settle in one transaction. What this process does not finish, a retry with the same key or the sweeper
 * does. Throws a Failure for every refusal; those that are final are stored under the key and given again.
 */
export async function confirmSession(
  charging: Charging,
  scope: Scope,
  request: ConfirmRequest,
): Promise<ConfirmSessionResponse> {
  if (request.captureMethod !== null && request.captureMethod !== 'automatic') {
    throw new Failure('manual_capture_not_supported');
  }
  // Nothing can be known under a key of such a path, so it may be said before the key is looked up.
  if (!isId('checkout_session', request.sessionId)) throw new Failure('checkout_session_not_found');
  await charging.failpoint('confirm.before_claim');
  const use: KeyUse = {
    endpoint: `POST /v1/checkout/sessions/${request.sessionId}/confirm`,
    key: request.key,
    requestHash: request.requestHash,
    otherRequest: 'refuse',
  };
  await refuseWhileProcessorIsDown(charging, scope, request.sessionId, use);
  const { turns } = charging;
  const keyInUse = JSON.stringify([scope.accountId, scope.testMode, use.endpoint, use.key]);
  if (turns.keysInUse.has(keyInUse)) {
    const known = await answerOfKey(charging, scope, use);
    if (known !== undefined) return known;
    // Neither request has claimed the key yet.
    throw inUse();
  }
  turns.keysInUse.add(keyInUse);
  try {
    return await confirmInLine(charging, scope, request, use);
  } finally {
    turns.keysInUse.delete(keyInUse);
  }
}

// The place in the line is taken before the key is looked up, so that the order is that in which the requests came.
async function confirmInLine(
  charging: Charging,
  scope: Scope,
  request: ConfirmRequest,
  use: KeyUse,
): Promise<ConfirmSessionResponse> {
  const { turns, budgets } = charging;
  const isBusy = request.paymentMethodId !== null && turns.isBusy(scope, request.paymentMethodId);
  let turn: PaymentTurn;
  try {
    turn = turns.enter(scope, request.paymentMethodId, budgets);
  } catch (error) {
    const known = await answerOfKey(charging, scope, use);
    if (known !== undefined) return known;
    throw error;
  }
  try {
    const known = isBusy ? await answerOfKey(charging, scope, use) : undefined;
    return known ?? (await confirmInTurn(charging, scope, request, use, turn));
  } finally {
    turn.leave();
  }
}

// A key that is finished or in use does not wait in line.
async function answerOfKey(charging: Charging, scope: Scope, use: KeyUse): Promise<ConfirmSessionResponse | undefined> {
  const known = await findKey(charging.database, scope, use);
  if (known?.outcome === 'finished') return replayAnswer(known.answer, true);
  if (known?.outcome === 'other_request') throw new Failure('idempotency_key_reused');
  if (known?.outcome === 'in_use') throw inUse();
  return undefined;
}

async function confirmInTurn(
  charging: Charging,
  scope: Scope,
  request: ConfirmRequest,
  use: KeyUse,
  turn: PaymentTurn,
): Promise<ConfirmSessionResponse> {
  const { lockMs, callMs } = charging.budgets;
  const claimed = await turn.take(
    () =>
      withTx(charging.database, scope, (tx) => claim(charging, tx, scope, request, use, turn), {
        lockTimeoutMs: lockMs,
      }),
    (wanted) => arePaymentLocksHeld(charging.database, scope, wanted),
  );
  if (claimed.kind === 'answer') return replayAnswer(claimed.answer, claimed.replayed);
  turn.charge();
  await charging.failpoint('confirm.claimed');

  const callsEndMs = Math.min(performance.now() + callMs, turn.deadlineMs);
  const settled = await carryOutOrRelease(charging, scope, use, claimed, callsEndMs);
  if (settled === undefined) {
    await withTx(charging.database, scope, (tx) => releaseKey(tx, scope, use, claimed.epoch));
    await charging.failpoint('confirm.key_released');
    throw inUse();
  }
  if (settled.answer !== undefined) return replayAnswer(settled.answer, false);
  const stored = await findKey(charging.database, scope, use);
  if (stored?.outcome !== 'finished') throw inUse();
  return replayAnswer(stored.answer, false);
}

// A failure here leaves the outcome unknown and releases both leases, so that a retry with the same key can continue at once.
async function carryOutOrRelease(
  charging: Charging,
  scope: Scope,
  use: KeyUse,
  { attempt, epoch, claimed }: Extract<Claimed, { kind: 'attempt' }>,
  deadlineMs: number,
): Promise<SettledAttempt | undefined> {
  try {
    return await carryOutAttempt(charging, scope, attempt, deadlineMs, claimed);
  } catch (error) {
    try {
      await withTx(charging.database, scope, (tx) => releaseKey(tx, scope, use, epoch));
    } catch (cause) {
      charging.logger.warn(
        { err: cause, attemptId: attempt.id },
        'Failed to release the lease of an idempotency key; it stays in use until the lease expires',
      );
    }
    throw error;
  }
}

// A replay must work while the processor is down; anything else is told to come back before a row is written.
async function refuseWhileProcessorIsDown(
  charging: Charging,
  scope: Scope,
  sessionId: string,
  use: KeyUse,
): Promise<void> {
  if (!(await processorOf(charging, scope, sessionId)).isDown()) return;
  const known = await findKey(charging.database, scope, use);
  if (known?.outcome === 'finished' || known?.outcome === 'other_request') return;
  if (known?.outcome === 'in_use') throw inUse();
  throw new Failure('lock_timeout', { retryAfterSeconds: 5 });
}

// That no processor serves this mode must not tell a foreign session from one that does not exist.
async function processorOf(charging: Charging, scope: Scope, sessionId: string): Promise<ProcessorPort> {
  try {
    return charging.processors.of(scope);
  } catch (error) {
    if ((await loadSession(charging.database, scope, sessionId)) === undefined) {
      throw new Failure('checkout_session_not_found');
    }
    throw error;
  }
}

async function claim(
  charging: Charging,
  tx: Tx,
  scope: Scope,
  request: ConfirmRequest,
  use: KeyUse,
  turn: PaymentTurn,
): Promise<Claimed> {
  // Sent together: one round trip for the session, the key and all that the decision depends on. The session first, as whoever settles or gives up
  // a charge takes it before the key.
  const attemptId = newId('charge_attempt');
  const [session, key, facts] = await Promise.all([
    lockSession(tx, scope, request.sessionId),
    claimKey(tx, scope, use, charging.budgets.leaseMs, attemptId),
    loadChargeFacts(tx, scope, request.sessionId, request.paymentMethodId),
  ]);
  await charging.failpoint('confirm.key_claimed');
  if (key.outcome === 'other_request') throw new Failure('idempotency_key_reused');
  if (key.outcome === 'in_use') throw inUse();
  if (key.outcome === 'finished') return { kind: 'answer', answer: key.answer, replayed: true };
  const live = facts.hasLiveAttempts ? await liveAttempts(tx, scope, 'session', request.sessionId) : [];
  const at =
    session === undefined ? charging.clock.now() : await timeOnClock(tx, scope, charging.clock, session.testClockId);
  const ended = session && refusalByStatus(session, at);
  const abandoned = await abandonUnsent(tx, scope, live, ended);
  // Abandoning the key's own unsent attempt freed the key, which raised its epoch.
  const epoch = key.attemptId !== undefined && abandoned.includes(key.attemptId) ? key.epoch + 1 : key.epoch;
  const resumed = await resume(charging, tx, scope, key, turn);
  if (resumed !== undefined) return resumed;

  const refusal = refusalToConfirm({ session, facts, live, at, features: request.features });
  if (refusal !== undefined || session === undefined) {
    const answer = refusalAnswer(refusal ?? new Failure('checkout_session_not_found'));
    await finishKey(tx, scope, use, answer);
    return { kind: 'answer', answer, replayed: false };
  }
  // Also before a session is completed uncharged: the page may be charging its other card at this moment.
  for (const attempt of live) {
    if (attempt.status !== 'created' || !attempt.leaseDead) throw contended();
    await abandonAttempt(tx, scope, attempt.id);
  }
  if (session.amountEligibleCents < minimumChargeCents) return completeUncharged(tx, scope, request, use, session, at);
  const { paymentMethod: card, eligibilityRecord } = facts;
  if (card === undefined || eligibilityRecord === undefined)
    throw new Error('A refusal must be thrown before the charge');
  const { attempt, claimed } = await reserve(charging, tx, scope, turn, {
    attemptId,
    session,
    card,
    customerId: facts.customer?.id ?? null,
    recordId: eligibilityRecord.id,
    expand: request.expand,
    at,
  });
  if (!key.isNew) await linkAttempt(tx, scope, use, attempt.id);
  await charging.failpoint('confirm.before_claim_commit');
  return { kind: 'attempt', attempt, epoch, claimed };
}

// The same key after a crash or a lost answer: goes on with what its first use began.
async function resume(
  charging: Charging,
  tx: Tx,
  scope: Scope,
  key: Extract<Claim, { outcome: 'claimed' }>,
  turn: PaymentTurn,
): Promise<Claimed | undefined> {
  if (key.attemptId === undefined) return undefined;
  const { leaseMs } = charging.budgets;
  const claimed = await takeOverAttempt(charging, tx, scope, key.attemptId);
  if (claimed !== undefined) {
    // Its locks have expired with its lease. A sent attempt is settled whichever process holds them now; an unsent one waits for its turn again.
    if (claimed.status === 'created' && !(await takeTurn(tx, scope, claimed, leaseMs, turn))) {
      throw new NotItsTurn(partiesOf(claimed));
    }
    return { kind: 'attempt', attempt: claimed, epoch: key.epoch };
  }
  const attempt = await findAttempt(tx, scope, key.attemptId);
  if (attempt === undefined || attempt.status === 'abandoned') return undefined;
  // The sweeper holds it at this moment. One that is settled has finished the key in the same transaction, and is not resumed.
  throw inUse();
}

// Abandons unsent attempts of a session that no longer accepts payments, and those whose time to confirm is over.
async function abandonUnsent(
  tx: Tx,
  scope: Scope,
  live: readonly ChargeAttempt[],
  ended: Failure | undefined,
): Promise<string[]> {
  const abandoned: string[] = [];
  for (const { id, status, leaseDead, confirmOver } of live) {
    const isUnsent = status === 'created' && leaseDead && (ended !== undefined || confirmOver);
    if (isUnsent && (await abandonAttempt(tx, scope, id, { ended }))) abandoned.push(id);
  }
  return abandoned;
}

function partiesOf({ customerId, paymentMethodId }: Pick<ChargeAttempt, 'customerId' | 'paymentMethodId'>) {
  return { customerId, paymentMethodId };
}

async function takeTurn(
  tx: Tx,
  scope: Scope,
  attempt: Pick<ChargeAttempt, 'id' | 'customerId' | 'paymentMethodId'>,
  leaseMs: number,
  turn: PaymentTurn,
): Promise<boolean> {
  const wanted = partiesOf(attempt);
  return turn.isNext(wanted) && takePaymentLocks(tx, scope, { attemptId: attempt.id, ...wanted, leaseMs });
}

// Nothing, or less than the processor takes, is eligible: a normal outcome (interface, confirm rule 2). Takes no lock.
async function completeUncharged(
  tx: Tx,
  scope: Scope,
  request: ConfirmRequest,
  use: KeyUse,
  session: Session,
  at: Date,
): Promise<Claimed> {
  const after: Session = { ...session, status: 'complete', completedAt: at, nextAction: null };
  const saved = await finishPaidSession(tx, scope, { session, after, intent: undefined, at });
  const answer = await confirmAnswer(tx, scope, saved, undefined, request.expand);
  await finishKey(tx, scope, use, answer);
  return { kind: 'answer', answer, replayed: false };
}

async function reserve(
  charging: Charging,
  tx: Tx,
  scope: Scope,
  turn: PaymentTurn,
  charge: {
    attemptId: string;
    session: Session;
    card: ChargeableCard;
    customerId: string | null;
    recordId: string;
    expand: readonly string[];
    at: Date;
  },
): Promise<{ attempt: ChargeAttempt; claimed: ClaimedCharge }> {
  const { attemptId, session, card, customerId, recordId, expand, at } = charge;
  const attempt: NewAttempt = {
    id: attemptId,
    purpose: 'session',
    subjectId: session.id,
    leg: 'health',
    driver: 'confirm',
    eligibilityRecordId: recordId,
    paymentIntentId: newId('payment_intent'),
    customerId,
    paymentMethodId: card.id,
    processorPaymentMethodId: card.processorPaymentMethodId,
    processorCustomerId: card.processorCustomerId,
    offSession: true,
    // A letter is needed before its lines' money is captured (decisions 13).
    captureMethod: session.letterRequired ? 'manual' : 'automatic',
    amountCents: session.amountEligibleCents,
    healthcare: healthcareOf(session),
    expand,
    actingAt: at,
    leaseMs: charging.budgets.leaseMs,
    confirmMs: confirmTimeMs(charging.budgets, session, at),
    operationId: null,
  };
  const owners = { sessionId: session.id, invoiceId: null, subscriptionId: null };
  const wanted = partiesOf(attempt);
  const intent = turn.isNext(wanted) ? await beginLockedAttempt(tx, scope, attempt, owners) : undefined;
  // Rolls everything back: nothing is left behind, and the key is free for the retry.
  if (intent === undefined) throw new NotItsTurn(wanted);
  return { attempt: attemptAsCreated(attempt), claimed: { session, intent } };
}
