import { encodeEvent, type NewEvent } from '@eligo/events';
import type { Scope, StoredAnswer } from '@eligo/postgres';
import { cents, newId } from '@eligo/values';
import type { Context } from '../context.ts';
import type { ChargeAttempt, ProcessorVerdict } from '../domain/charge-attempt.ts';
import { paidLines } from '../domain/paid-lines.ts';
import type { PaymentIntent } from '../domain/payment-intent.ts';
import { isConfirmationToken } from '../domain/payment-method.ts';
import type { Session } from '../domain/session.ts';
import type { ConfirmedMethod } from '../store/payment-methods.ts';
import type { ClaimedCharge } from './charge-claim.ts';
import { confirmAnswer } from './confirm-answer.ts';
import { receiveForSession } from './pay-session.ts';
import { chargeEvent, intentEvent, newCharge, sessionEvent } from './payment-events.ts';
import { receiptCommand, wantsReceipt } from './receipt-command.ts';

/** A charge that completed its session, as it is stored. */
export interface SettledConfirm {
  readonly attempt: ChargeAttempt;
  readonly intent: PaymentIntent;
  readonly session: Session;
  /** Of a confirm: the same bytes that the request's key answers with. */
  readonly answer?: StoredAnswer;
}

/**
 * Records the success of a confirm, or of a payment on the page with one card, from what its claim has read, in one transaction and one round trip, which it shares with others that
 * succeed at the same time: attempt, intent, charge, ledger entry, lines, session, locks, events, and the plan, or the answer under the key. Undefined, with
 * nothing written, for a hold, which opens letters, for a session whose letter fee is to be settled, and when the session has changed since or the attempt is settled.
 */
export async function settleConfirmed(
  context: Context,
  scope: Scope,
  attempt: ChargeAttempt,
  verdict: Extract<ProcessorVerdict, { kind: 'succeeded' }>,
  claimed: ClaimedCharge,
): Promise<SettledConfirm | undefined> {
  if (verdict.capturable || claimed.session.letterFeeStatus === 'pending') return undefined;
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
  const { plan } = claimed;
  const answer =
    plan === undefined ? await confirmAnswer(context.database, scope, after, intent, attempt.expand) : undefined;
  const events: NewEvent[] = [
    chargeEvent(scope, 'charge.succeeded', newCharge(intent, charge.chargeId, at), at),
    intentEvent(scope, 'payment_intent.succeeded', intent, at),
    sessionEvent(scope, 'checkout.session.completed', after, at),
  ];
  if (wantsReceipt(after)) {
    const kinds = new Map([[intent.id, attempt.cardKind ?? 'unknown']]);
    events.push(await receiptCommand(context.database, scope, after, [intent], at, kinds));
  }
  const { settlements, pageSettlements } = context.groups;
  const isWritten = await (plan === undefined ? settlements : pageSettlements).submit(scope, {
    before,
    after,
    attempt,
    intent,
    charge,
    ledgerEntryId: newId('ledger_transaction'),
    lines: paidLines(before, intent),
    ...{ answer, plan },
    method: confirmedMethod(attempt, verdict),
    events: events.map(encodeEvent),
  });
  if (!isWritten) return undefined;
  const settled = { attempt: { ...attempt, status: 'succeeded' as const }, intent, session: after };
  return answer === undefined ? settled : { ...settled, answer };
}

/** What the card of a charge has become; undefined where it was a payment method before. */
export function confirmedMethod(
  { paymentMethodId, processorPaymentMethodId: token, customerId }: ChargeAttempt,
  {
    paymentMethodId: processorPaymentMethodId,
    agreement,
  }: Pick<Extract<ProcessorVerdict, { kind: 'succeeded' }>, 'paymentMethodId' | 'agreement'>,
): ConfirmedMethod | undefined {
  if (processorPaymentMethodId === undefined || !isConfirmationToken(token)) return undefined;
  return { paymentMethodId, token, processorPaymentMethodId, customerId, agreement };
}

/** The session after the charge that completes it. */
export function confirmedSession(session: Session, intent: PaymentIntent, at: Date): Session {
  return { ...receiveForSession(session, intent, false), status: 'complete', completedAt: at, nextAction: null };
}
