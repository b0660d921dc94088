import { encodeEvent, type NewEvent } from '@eligo/events';
import type { Scope, StoredAnswer } from '@eligo/postgres';
import { cents, newId } from '@eligo/values';
import type { Context } from '../context.ts';
import type { ChargeAttempt, ProcessorVerdict } from '../domain/charge-attempt.ts';
import { paidLines } from '../domain/paid-lines.ts';
import type { PaymentIntent } from '../domain/payment-intent.ts';
import type { Session } from '../domain/session.ts';
import type { ClaimedCharge } from './charge-claim.ts';
import { confirmAnswer } from './confirm-answer.ts';
import { receiveForSession } from './pay-session.ts';
import { chargeEvent, intentEvent, newCharge, sessionEvent } from './payment-events.ts';
import { receiptCommand, wantsReceipt } from './receipt-command.ts';

/** A confirm that charged, as it is stored. */
export interface SettledConfirm {
  readonly attempt: ChargeAttempt;
  readonly intent: PaymentIntent;
  readonly session: Session;
  /** The same bytes that the request's key answers with. */
  readonly answer: StoredAnswer;
}

/**
 * Records the success of a confirm from what its claim has read, in one transaction and one round trip, which it shares with other confirms that
 * succeed at the same time: attempt, intent, charge, ledger entry, lines, session, locks, events, and the answer under the key. Undefined, with
 * nothing written, for a hold, which opens letters, and when the session has changed since or the attempt is settled.
 */
export async function settleConfirmed(
  context: Context,
  scope: Scope,
  attempt: ChargeAttempt,
  verdict: Extract<ProcessorVerdict, { kind: 'succeeded' }>,
  claimed: ClaimedCharge,
): Promise<SettledConfirm | undefined> {
  if (verdict.capturable) return undefined;
  const at = attempt.actingAt;
  const charge = { chargeId: newId('charge'), processorChargeId: verdict.chargeId, at };
  const intent: PaymentIntent = {
    ...claimed.intent,
    status: 'succeeded',
    amountCapturableCents: cents(0),
    amountReceivedCents: claimed.intent.amountCents,
    latestChargeId: charge.chargeId,
    processorIntentId: attempt.processorIntentId,
  };
  const before = claimed.session;
  const after = { ...confirmedSession(before, intent, at), version: before.version + 1n };
  const answer = await confirmAnswer(context.database, scope, after, intent, attempt.expand);
  const events: NewEvent[] = [
    chargeEvent(scope, 'charge.succeeded', newCharge(intent, charge.chargeId, at), at),
    intentEvent(scope, 'payment_intent.succeeded', intent, at),
    sessionEvent(scope, 'checkout.session.completed', after, at),
  ];
  if (wantsReceipt(after)) events.push(await receiptCommand(context.database, scope, after, [intent], at));
  const isWritten = await context.groups.settlements.submit(scope, {
    before,
    after,
    attempt,
    intent,
    charge,
    ledgerEntryId: newId('ledger_transaction'),
    lines: paidLines(before, intent),
    answer,
    events: events.map(encodeEvent),
  });
  return isWritten ? { attempt: { ...attempt, status: 'succeeded' }, intent, session: after, answer } : undefined;
}

/** The session after its confirm has charged the eligible part. */
export function confirmedSession(session: Session, intent: PaymentIntent, at: Date): Session {
  return { ...receiveForSession(session, intent, false), status: 'complete', completedAt: at, nextAction: null };
}
