import type { RefundAllocation, RefundInstruction } from '@eligo/proto/checkout/v1/checkout';
import type { CallOptions } from '@eligo/rpc';
import { newId } from '@eligo/values';
import type { Refunds } from './context.ts';

/** The allocation over a session's cards that a refund would have; reserves nothing. */
export async function previewRefund(
  { checkout }: Refunds,
  sessionId: string,
  instruction: RefundInstruction | undefined,
  call: CallOptions,
): Promise<readonly RefundAllocation[]> {
  const { allocations } = await checkout.reserveRefund(
    {
      refundId: newId('refund'),
      subject: { case: 'sessionId', value: sessionId },
      preview: true,
      ...(instruction === undefined ? {} : { instruction }),
    },
    call,
  );
  return allocations;
}
