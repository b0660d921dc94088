import { AsyncLocalStorage } from 'node:async_hooks';
import { encodeEvent, type NewEvent } from '@eligo/events';
import type { Scope, StoredAnswer } from '@eligo/postgres';
import { cents, newId } from '@eligo/values';
import type { CapturedWrite, Context } from '../context.ts';
import { balanceTransactionOf } from '../domain/balance-transaction.ts';
import type { Charge, PaymentIntent } from '../domain/payment-intent.ts';
import type { Session } from '../domain/session.ts';
import type { NewCapture } from '../store/captures.ts';
import type { HeldCharge } from '../store/captures-together.ts';
import { captureAnswer } from './capture-answer.ts';
import type { ClaimedCapture } from './capture-claim.ts';
import { chargeEvent, intentEvent, sessionEvent } from './payment-events.ts';

/**
 * Records the success of a capture from what its claim has read, in one transaction and one round trip, which it shares with others that succeed at the same
 * time: operation, capture, intent, charge, ledger entry, lines, session, plan, events, and the answer under the key, which it returns. Undefined, with nothing written, when a
 * record has changed since.
 */
export async function settleCaptured(
  context: Context,
  scope: Scope,
  claimed: ClaimedCapture,
): Promise<StoredAnswer | undefined> {
  const { session: before, capture, held, operation } = claimed;
  const written = capturedHold(scope, before, held, capture);
  const ended = { id: capture.id, cause: capture.cause, status: 'succeeded', failureCode: null } as const;
  const answer = await captureAnswer(context.database, scope, ended, written.after);
  const isWritten = await context.groups.capturesDone.submit(scope, {
    ...written,
    ...{ operationId: operation.id, answer, plan: undefined },
  });
  return isWritten ? answer : undefined;
}

/** What the capture of all that one card holds makes of the session, which it completes, of the card's records, and what it tells. */
export function capturedHold(
  scope: Scope,
  before: Session,
  held: HeldCharge,
  capture: NewCapture,
): Omit<CapturedWrite, 'operationId' | 'answer' | 'plan'> {
  const { amount } = capture.allocation;
  const { at } = capture;
  const ledgerEntryId = newId('ledger_transaction');
  const intent: PaymentIntent = {
    ...held.intent,
    ...{ status: 'succeeded', amountCapturableCents: cents(0) },
    amountReceivedCents: cents(held.intent.amountReceivedCents + amount),
  };
  const charge: Charge = {
    ...held.charge,
    amountCapturedCents: cents(held.charge.amountCapturedCents + amount),
    balanceTransactionId: held.charge.balanceTransactionId ?? balanceTransactionOf(ledgerEntryId),
  };
  const after: Session = {
    ...before,
    amountReceivedCents: cents(before.amountReceivedCents + amount),
    captureIds: [...before.captureIds, capture.id],
    ...{ status: 'complete', completedAt: at, nextAction: null, version: before.version + 1n },
  };
  const events: NewEvent[] = [
    chargeEvent(scope, 'charge.captured', charge, at),
    intentEvent(scope, 'payment_intent.succeeded', intent, at),
    sessionEvent(scope, 'checkout.session.completed', after, at),
  ];
  return {
    ...{ before, after, capture, intent, charge, ledgerEntryId },
    events: events.map(encodeEvent),
    inContext: AsyncLocalStorage.snapshot(),
  };
}
