import { Failure } from '@eligo/failures';
import type { RefundAllocation, RefundInstruction } from '@eligo/proto/checkout/v1/checkout';
import type { CallOptions } from '@eligo/rpc';
import { newId } from '@eligo/values';
import type { Context } from '../context.ts';
import type { RefundSubject } from '../domain/refund.ts';
import { refusalOfSubject, subjectField } from './reserve-refund.ts';

/** The allocation over the cards that a refund would have; reserves nothing. */
export async function previewRefund(
  { checkout }: Context,
  subject: RefundSubject,
  instruction: RefundInstruction | undefined,
  call: CallOptions,
): Promise<readonly RefundAllocation[]> {
  try {
    const { allocations } = await checkout.reserveRefund(
      {
        refundId: newId('refund'),
        subject: subjectField(subject),
        preview: true,
        askedByPartner: true,
        ...(instruction === undefined ? {} : { instruction }),
      },
      call,
    );
    return allocations;
  } catch (error) {
    throw error instanceof Failure ? refusalOfSubject(error, subject) : error;
  }
}
