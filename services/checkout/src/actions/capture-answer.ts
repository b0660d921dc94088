import { fromBinary, toBinary } from '@bufbuild/protobuf';
import { failureFromDetail } from '@eligo/failures';
import { type Db, finishKeyOfAttempt, type Scope, type StoredAnswer, type Tx } from '@eligo/postgres';
import {
  type CheckoutSession,
  CheckoutSessionSchema,
  type PaymentIntent,
  PaymentIntentSchema,
} from '@eligo/proto/checkout/v1/checkout';
import { FailureDetailSchema } from '@eligo/proto/failure/v1/failure';
import type { Capture } from '../domain/capture.ts';
import { refusalOfFailed } from '../domain/capture-rules.ts';
import type { Session } from '../domain/session.ts';
import { intentMessage } from '../messages/intents.ts';
import { sessionMessage } from '../messages/session.ts';
import { findCapturedIntent } from '../store/captures.ts';
import { refusalAnswer } from './confirm-answer.ts';

/**
 * Stores how a capture ended under the key that requested it, in the transaction that ends it. Captures of the page and of letters have no key.
 * `session` is as it was saved.
 */
export async function answerCapture(tx: Tx, scope: Scope, capture: Capture, session: Session): Promise<void> {
  if (capture.cause === 'page' || capture.cause === 'letter') return;
  await finishKeyOfAttempt(tx, scope, capture.id, await captureAnswer(tx, scope, capture, session));
}

/** The answer to the request for a capture that has ended: the session or the payment intent as it now is, or a refusal when nothing was captured. */
export async function captureAnswer(
  db: Db,
  scope: Scope,
  { id, cause, status, failureCode }: Pick<Capture, 'id' | 'cause' | 'status' | 'failureCode'>,
  session: Session,
): Promise<StoredAnswer> {
  if (status === 'failed') return refusalAnswer(refusalOfFailed(failureCode));
  if (cause === 'session') {
    return { status: 200, body: Buffer.from(toBinary(CheckoutSessionSchema, sessionMessage(scope, session))) };
  }
  const intent = await findCapturedIntent(db, scope, id);
  if (intent === undefined) throw new Error(`Capture ${id} has no payment intent`);
  return { status: 200, body: Buffer.from(toBinary(PaymentIntentSchema, intentMessage(scope, intent))) };
}

/** The session of a stored answer, or the stored refusal thrown again. */
export function sessionOfAnswer(answer: StoredAnswer): CheckoutSession {
  return fromBinary(CheckoutSessionSchema, bodyOf(answer));
}

/** The same for the payment intent of an answer. */
export function intentOfAnswer(answer: StoredAnswer): PaymentIntent {
  return fromBinary(PaymentIntentSchema, bodyOf(answer));
}

function bodyOf({ status, body }: StoredAnswer): Buffer {
  if (status !== 200) throw failureFromDetail(fromBinary(FailureDetailSchema, body));
  return body;
}
