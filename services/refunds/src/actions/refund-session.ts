import { create } from '@bufbuild/protobuf';
import { Failure } from '@eligo/failures';
import { finishKey, type Scope, withTx } from '@eligo/postgres';
import { type RefundSessionResponse, RefundSessionResponseSchema } from '@eligo/proto/refunds/v1/refunds';
import type { CallOptions } from '@eligo/rpc';
import { refundMessage } from '../messages/refund.ts';
import { findRefund } from '../store/refunds.ts';
import { carryOutRequest } from './carry-out-request.ts';
import type { Refunds } from './context.ts';
import { previewRefund } from './preview-refund.ts';
import { answerOf, replay } from './refund-answer.ts';
import { type KeyHold, type RefundRequest, requestRefund } from './request-refund.ts';

/**
 * Refunds a session or a payment intent: write down, reserve at checkout, make pending; the processor is asked after the answer. Answers the
 * refund, and the session when it has one. The same Idempotency-Key gives the same answer.
 */
export async function refund(
  refunds: Refunds,
  scope: Scope,
  request: RefundRequest,
  call: CallOptions,
): Promise<RefundSessionResponse> {
  await requireProcessor(refunds, scope, request, call);
  const requested = await requestRefund(refunds, scope, request);
  if (requested.kind === 'answered') return replay(requested.answer);
  if (requested.kind === 'begun_before') return finishEarlier(refunds, scope, requested, call);
  const done = await carryOutRequest(refunds, scope, requested.refund, call, requested.key);
  return create(RefundSessionResponseSchema, {
    refund: refundMessage(done.refund),
    ...(done.session === undefined ? {} : { session: done.session }),
  });
}

// Refused before the first row where no processor could give the money back; but what is wrong with the request itself is said first.
async function requireProcessor(
  refunds: Refunds,
  scope: Scope,
  { subject, instruction }: RefundRequest,
  call: CallOptions,
): Promise<void> {
  try {
    refunds.processors.of(scope);
  } catch (error) {
    if (!(error instanceof Failure && error.code === 'processor_not_configured')) throw error;
    await previewRefund(refunds, subject, instruction, call);
    throw error;
  }
}

// The refund is there and its answer is not: what an older release began.
async function finishEarlier(
  refunds: Refunds,
  scope: Scope,
  { refundId, key }: { refundId: string; key: KeyHold },
  call: CallOptions,
): Promise<RefundSessionResponse> {
  const found = await findRefund(refunds.database, scope, refundId);
  if (found === undefined) throw new Error('An idempotency key refers to a missing refund');
  const { checkoutSessionId } = found;
  const session =
    checkoutSessionId === null ? undefined : await refunds.checkout.getSession({ id: checkoutSessionId }, call);
  const answer = answerOf(found, session);
  await withTx(refunds.database, scope, (tx) => finishKey(tx, scope, key.use, answer));
  return replay(answer);
}
