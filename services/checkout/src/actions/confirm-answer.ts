import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import { Failure, failureFromDetail, failureToDetail } from '@eligo/failures';
import type { Db, Scope, StoredAnswer } from '@eligo/postgres';
import { type ConfirmSessionResponse, ConfirmSessionResponseSchema } from '@eligo/proto/checkout/v1/checkout';
import { FailureDetailSchema } from '@eligo/proto/failure/v1/failure';
import { type ChargeAttempt, canceledLate, type ProcessorVerdict } from '../domain/charge-attempt.ts';
import type { PaymentIntent } from '../domain/payment-intent.ts';
import type { Session } from '../domain/session.ts';
import { customerMessage } from '../messages/customer.ts';
import { intentMessage } from '../messages/intents.ts';
import { paymentMethodMessage } from '../messages/payment-method.ts';
import { sessionMessage } from '../messages/session.ts';
import { findCustomer } from '../store/customers.ts';
import { findPaymentMethod } from '../store/payment-methods.ts';

/** The answer to a confirm that charged, or had nothing to charge, with the records that were asked for: a replay gives exactly it. */
export async function confirmAnswer(
  db: Db,
  scope: Scope,
  session: Session,
  intent: PaymentIntent | undefined,
  expand: readonly string[],
): Promise<StoredAnswer> {
  const response = create(ConfirmSessionResponseSchema, { session: sessionMessage(scope, session) });
  if (intent !== undefined) response.paymentIntent = intentMessage(scope, intent);
  if (expand.includes('customer') && session.customerId !== null) {
    const customer = await findCustomer(db, scope, session.customerId);
    if (customer !== undefined) response.customer = customerMessage(scope, customer);
  }
  const cardId = intent?.paymentMethodId;
  if (expand.includes('payment_method') && cardId != null) {
    const card = await findPaymentMethod(db, scope, cardId);
    if (card !== undefined) response.paymentMethod = paymentMethodMessage(scope, card);
  }
  return { status: 200, body: Buffer.from(toBinary(ConfirmSessionResponseSchema, response)) };
}

/** The answer to a confirm that was refused for good. */
export function refusalAnswer(failure: Failure): StoredAnswer {
  return { status: failure.status, body: Buffer.from(toBinary(FailureDetailSchema, failureToDetail(failure))) };
}

/** The answer to a decline: terminal, 402 (ERR-10). */
export function confirmRefusal(verdict: Exclude<ProcessorVerdict, { kind: 'succeeded' }>): StoredAnswer {
  return refusalAnswer(declineFailure(verdict));
}

/** The answer to a confirm whose attempt ended like this; undefined where no card was declined. */
export function answerOfAttempt({ status, failureCode, declineCode }: ChargeAttempt): StoredAnswer | undefined {
  if (failureCode === null || failureCode === canceledLate) return undefined;
  if (status === 'declined') {
    return confirmRefusal({
      kind: 'declined',
      code: failureCode,
      declineCode: declineCode ?? undefined,
      chargeId: undefined,
    });
  }
  return status === 'failed' ? confirmRefusal({ kind: 'failed', code: failureCode }) : undefined;
}

/** The response for a card that did not pay. */
function declineFailure(verdict: Exclude<ProcessorVerdict, { kind: 'succeeded' }>): Failure {
  if (verdict.kind === 'failed') return new Failure('card_declined', { declineCode: 'processing_error' });
  const declineCode = verdict.declineCode ?? verdict.code;
  return verdict.code === 'authentication_required'
    ? new Failure('authentication_required', { declineCode: 'authentication_required' })
    : new Failure('card_declined', { declineCode });
}

/** A stored answer as the call gives it: the message, or the Failure thrown again. */
export function replayAnswer(answer: StoredAnswer, replayed: boolean): ConfirmSessionResponse {
  if (answer.status !== 200) throw failureFromDetail(fromBinary(FailureDetailSchema, answer.body));
  const response = fromBinary(ConfirmSessionResponseSchema, answer.body);
  response.replayed = replayed;
  return response;
}
