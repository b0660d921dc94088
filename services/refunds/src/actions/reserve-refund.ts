import { fromBinary } from '@bufbuild/protobuf';
import { Failure } from '@eligo/failures';
import { RefundInstructionSchema, type ReserveRefundResponse } from '@eligo/proto/checkout/v1/checkout';
import type { CallOptions } from '@eligo/rpc';
import { isId } from '@eligo/values';
import type { Context } from '../context.ts';
import type { RefundSubject, RequestedRefund } from '../domain/refund.ts';

/**
 * What checkout says: it is taken out of what remains; it never will be; not at this moment, and nothing was done; or nobody knows, and it is
 * to be asked again under the same refund id.
 */
export type Reservation =
  | { readonly kind: 'reserved'; readonly response: ReserveRefundResponse }
  | { readonly kind: 'refused'; readonly failure: Failure }
  | { readonly kind: 'not_now'; readonly failure: Failure }
  | { readonly kind: 'unknown'; readonly error: unknown };

/** Asks checkout to take a refund out of what remains; asking again with the same id gives what was reserved. */
export async function reserveRefund(
  { checkout, budgets }: Context,
  refund: RequestedRefund,
  call: CallOptions,
): Promise<Reservation> {
  try {
    const response = await checkout.reserveRefund(
      {
        refundId: refund.refundId,
        subject: subjectField(refund.subject),
        instruction: fromBinary(RefundInstructionSchema, refund.instruction),
        askedByPartner: refund.operationId === null,
      },
      { ...call, timeoutMs: timeOf(call, budgets.checkoutMs) },
    );
    return { kind: 'reserved', response };
  } catch (error) {
    return judge(error, refund.subject);
  }
}

/**
 * Makes a refusal final while an earlier call for the same refund may still be on its way: its id is closed at checkout, and asked for once
 * more. What was reserved in the meantime is the refund after all.
 */
export async function closeRefund(
  context: Context,
  refund: RequestedRefund,
  call: CallOptions,
  failure: Failure,
): Promise<Reservation> {
  const { checkout, budgets } = context;
  try {
    const timeoutMs = timeOf(call, budgets.checkoutMs);
    await checkout.releaseRefund({ refundId: refund.refundId, keepReserved: true }, { ...call, timeoutMs });
  } catch (error) {
    return { kind: 'unknown', error };
  }
  const again = await reserveRefund(context, refund, call);
  return again.kind === 'refused' ? { kind: 'refused', failure } : again;
}

/** A subject as the message has it. */
export function subjectField(subject: RefundSubject) {
  return subject.kind === 'session'
    ? { case: 'sessionId' as const, value: subject.sessionId }
    : { case: 'paymentIntentId' as const, value: subject.paymentIntentId };
}

/** A payment intent that the body names and nobody knows is a fault of the body, and not of the path (decisions 1.9). */
export function refusalOfSubject(failure: Failure, subject: RefundSubject): Failure {
  if (subject.kind !== 'payment_intent' || failure.code !== 'payment_intent_not_found') return failure;
  const { paymentIntentId } = subject;
  const named = isId('payment_intent', paymentIntentId) ? `: ${paymentIntentId}` : '';
  return Failure.invalid(['body', 'refund', 'payment_intent_id'], failure.code, `payment_intent_not_found${named}`);
}

function judge(error: unknown, subject: RefundSubject): Reservation {
  if (!(error instanceof Failure)) return { kind: 'unknown', error };
  if (error.code === 'lock_timeout') return { kind: 'not_now', failure: error };
  // A service that is busy may have lost its connection while it committed.
  if (error.row.retry === 'same_request') return { kind: 'unknown', error };
  return { kind: 'refused', failure: refusalOfSubject(error, subject) };
}

function timeOf(call: CallOptions, mostMs: number): number {
  const left = typeof call.timeoutMs === 'function' ? call.timeoutMs() : call.timeoutMs;
  return Math.min(left ?? mostMs, mostMs);
}
