import type { Scope, Tx } from '@eligo/postgres';
import { cents, newId } from '@eligo/values';
import type { Context } from '../context.ts';
import type { ChargeAttempt } from '../domain/charge-attempt.ts';
import type { PaymentIntent } from '../domain/payment-intent.ts';
import type { Session } from '../domain/session.ts';
import { loadCaptureStanding, loadHeldCards } from '../store/captures.ts';
import { liveAttempts } from '../store/charge-attempts.ts';
import { recordHoldEnd } from '../store/holds.ts';
import { findDecision, insertVoid } from '../store/intent-operations.ts';
import { findIntent } from '../store/payment-intents.ts';
import { endHeldPlan } from '../store/payment-plans.ts';
import { lockSession } from '../store/sessions.ts';
import { timeOnClock } from '../store/test-clocks.ts';
import { cancelAndRefund } from './cancel-and-refund.ts';
import { cancelPaidSession } from './end-session.ts';
import { finishPaidSession } from './pay-session.ts';
import { planCapture, writeCapture } from './request-capture.ts';
import { recordHoldGone, settleRelease, voidHeldCards } from './settle-capture.ts';

/**
 * Ends what waits for a hold that is gone, or about to lapse, in one transaction. A `paid` session of which nothing was captured is canceled, and its other
 * holds are voided. Where a part was captured, the shop has delivered for it: that stays, and the session is complete once nothing is held. An open session
 * goes on with another card. Answers the session if it has ended; undefined if it has not, or if money of it is in flight, which then finds out by itself.
 */
export async function endSessionOfHold(
  context: Pick<Context, 'clock'>,
  tx: Tx,
  scope: Scope,
  { id, sessionId }: PaymentIntent,
  standing: 'held' | 'gone',
): Promise<Session | undefined> {
  if (sessionId === null) throw new Error(`Payment intent ${id} is held for no session`);
  const session = await lockSession(tx, scope, sessionId);
  // What was decided before its session's row was locked.
  const intent = await findIntent(tx, scope, id);
  if (session === undefined || intent?.status !== 'requires_capture') return undefined;
  if (await isInFlight(tx, scope, session, intent)) return undefined;
  if (await voidIfReplaced(tx, scope, session, intent)) return undefined;
  const at = await timeOnClock(tx, scope, context.clock, session.testClockId);
  if (standing === 'gone') return followLoss(tx, scope, { session, intent, at });
  // The second card of an open session has an hour to come; then the sweeper voids the hold.
  if (session.status !== 'paid') return undefined;
  await recordHoldEnd(tx, scope, id, 'lapsed');
  if (session.captureIds.length === 0) return cancelPaidSession(context, tx, scope, session);
  return releaseRest(tx, scope, session, at);
}

/** Whether a payment or capture of a session is under way, or what becomes of this hold of it was decided. */
export async function isInFlight(tx: Tx, scope: Scope, session: Session, intent: PaymentIntent): Promise<boolean> {
  const [{ isCapturing, isPaying }, decision] = await Promise.all([
    loadCaptureStanding(tx, scope, session.id),
    findDecision(tx, scope, intent.id),
  ]);
  return isCapturing || isPaying || decision !== undefined;
}

// A hold of a renewal that is not the session's: none ends with it.
async function voidIfReplaced(tx: Tx, scope: Scope, { id }: Session, intent: PaymentIntent): Promise<boolean> {
  const live = await liveAttempts(tx, scope, ['renewal', 'renewed'], id);
  const attempt = live.find(({ paymentIntentId }) => paymentIntentId === intent.id);
  if (attempt === undefined) return false;
  const at = attempt.actingAt;
  await insertVoid(tx, scope, { attemptId: attempt.id, id: newId('intent_operation'), at, leaseMs: 0 });
  return true;
}

async function followLoss(
  tx: Tx,
  scope: Scope,
  { session, intent, at }: { session: Session; intent: PaymentIntent; at: Date },
): Promise<Session | undefined> {
  const attempt = await attemptOf(tx, scope, session, intent);
  await recordHoldEnd(tx, scope, intent.id, 'lost');
  await recordHoldGone(tx, scope, { operation: { paymentIntentId: intent.id, actingAt: at }, attempt });
  if (session.status !== 'paid') return undefined;
  if (session.captureIds.length === 0) {
    await Promise.all([voidHeldCards(tx, scope, session.id, at), endHeldPlan(tx, scope, session.id, 'failed')]);
    return cancelAndRefund(tx, scope, session, at);
  }
  if ((await loadHeldCards(tx, scope, session.id)).length > 0) return undefined;
  await endHeldPlan(tx, scope, session.id, 'done');
  const after: Session = { ...session, status: 'complete', completedAt: at, nextAction: null };
  return finishPaidSession(tx, scope, { session, after, intent: undefined, at });
}

// As the shop's own `final_capture` of nothing more.
async function releaseRest(tx: Tx, scope: Scope, session: Session, at: Date): Promise<Session> {
  const instruction = { amount: cents(0), entries: [], isFinal: true };
  const request = { session, cause: 'session', instruction, at } as const;
  const { allocation } = await planCapture(tx, scope, request);
  const id = newId('capture');
  await writeCapture(tx, scope, request, allocation, { id, leaseMs: 0 });
  return settleRelease(tx, scope, session, id, at);
}

async function attemptOf(tx: Tx, scope: Scope, session: Session, intent: PaymentIntent): Promise<ChargeAttempt> {
  const attempts = await liveAttempts(tx, scope, 'session', session.id);
  const attempt = attempts.find(({ paymentIntentId }) => paymentIntentId === intent.id);
  if (attempt === undefined) throw new Error(`Payment intent ${intent.id} is held by no attempt`);
  return attempt;
}
