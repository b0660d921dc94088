import { AsyncLocalStorage } from 'node:async_hooks';
import { encodeEvent, type NewEvent } from '@eligo/events';
import type { Scope, StoredAnswer } from '@eligo/postgres';
import { cents, newId } from '@eligo/values';
import type { Context } from '../context.ts';
import { balanceTransactionOf } from '../domain/balance-transaction.ts';
import type { Charge, PaymentIntent } from '../domain/payment-intent.ts';
import type { Session } from '../domain/session.ts';
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
  const { amount } = capture.allocation;
  const { at } = capture;
  const ledgerEntryId = newId('ledger_transaction');
  const received = cents(held.intent.amountReceivedCents + amount);
  const intent: PaymentIntent = {
    ...held.intent,
    ...{ status: 'succeeded', amountReceivedCents: received, amountCapturableCents: cents(0) },
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
  const ended = { id: capture.id, cause: capture.cause, status: 'succeeded', failureCode: null } as const;
  const events: NewEvent[] = [
    chargeEvent(scope, 'charge.captured', charge, at),
    intentEvent(scope, 'payment_intent.succeeded', intent, at),
    sessionEvent(scope, 'checkout.session.completed', after, at),
  ];
  const answer = await captureAnswer(context.database, scope, ended, after);
  const isWritten = await context.groups.capturesDone.submit(scope, {
    ...{ before, after, capture, operationId: operation.id, intent, charge, ledgerEntryId },
    ...{ answer, plan: undefined },
    events: events.map(encodeEvent),
    inContext: AsyncLocalStorage.snapshot(),
  });
  return isWritten ? answer : undefined;
}
