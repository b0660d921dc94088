import { create } from '@bufbuild/protobuf';
import { finishKey, type Scope, withTx } from '@eligo/postgres';
import { type RefundSessionResponse, RefundSessionResponseSchema } from '@eligo/proto/refunds/v1/refunds';
import type { CallOptions } from '@eligo/rpc';
import type { Context } from '../context.ts';
import { refundMessage } from '../messages/refund.ts';
import { findRefund } from '../store/refunds.ts';
import { carryOutRequest } from './carry-out-request.ts';
import { processorAccountOf } from './make-pending.ts';
import { previewRefund } from './preview-refund.ts';
import { answerOf, replay } from './refund-answer.ts';
import { type KeyHold, type RefundRequest, requestRefund } from './request-refund.ts';

/**
 * Refunds a session or a payment intent: write down, reserve at checkout, make pending; the processor is asked after the answer. Answers the
 * refund, and the session when it has one. The same Idempotency-Key gives the same answer.
 */
export async function refund(
  context: Context,
  scope: Scope,
  request: RefundRequest,
  call: CallOptions,
): Promise<RefundSessionResponse> {
  await requireProcessor(context, scope, request, call);
  const requested = await requestRefund(context, scope, request);
  if (requested.kind === 'answered') return replay(requested.answer);
  if (requested.kind === 'begun_before') return finishEarlier(context, scope, requested, call);
  const done = await carryOutRequest(context, scope, requested.refund, call, requested.key);
  return create(RefundSessionResponseSchema, {
    refund: refundMessage(done.refund),
    ...(done.session === undefined ? {} : { session: done.session }),
  });
}

// Refused before the first row where no processor could give the money back; but what is wrong with the request itself is said first.
async function requireProcessor(
  context: Context,
  scope: Scope,
  { subject, instruction }: RefundRequest,
  call: CallOptions,
): Promise<void> {
  if (context.processors.findOf(scope) !== undefined) return;
  const allocations = await previewRefund(context, subject, instruction, call);
  // New money goes nowhere; what is to be refunded may be where it can be refunded.
  for (const allocation of allocations) context.processors.at(scope, processorAccountOf(allocation));
}

// The refund is there and its answer is not: what an older release began.
async function finishEarlier(
  context: Context,
  scope: Scope,
  { refundId, key }: { refundId: string; key: KeyHold },
  call: CallOptions,
): Promise<RefundSessionResponse> {
  const found = await findRefund(context.database, scope, refundId);
  if (found === undefined) throw new Error('An idempotency key refers to a missing refund');
  const { checkoutSessionId } = found;
  const session =
    checkoutSessionId === null ? undefined : await context.checkout.getSession({ id: checkoutSessionId }, call);
  const answer = answerOf(found, session);
  await withTx(context.database, scope, (tx) => finishKey(tx, scope, key.use, answer));
  return replay(answer);
}
