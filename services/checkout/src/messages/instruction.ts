import { Failure, type FailureCode } from '@eligo/failures';
import type { CaptureInstruction, RefundInstruction } from '@eligo/proto/checkout/v1/checkout';
import { type Cents, centsFromInt64 } from '@eligo/values';
import type { LineEntry } from '../domain/line-allocation.ts';

/** What the instructions of a capture and of a refund have in common. */
type Common = 'amountCents' | 'lines' | 'taxCents' | 'shippingCents' | 'discountCents';
type Message = Pick<CaptureInstruction, Common> | Pick<RefundInstruction, Common>;

/** The amount, lines and components of an instruction. Throws the failure for a line that names no item. */
export function instructionOf(message: Message | undefined, lineWithoutItem: FailureCode) {
  return {
    amount: optional(message?.amountCents),
    entries: (message?.lines ?? []).map(({ item, amountCents }): LineEntry => {
      const amount = centsFromInt64(amountCents);
      if (item.case === undefined) throw new Failure(lineWithoutItem);
      return item.case === 'priceId' ? { priceId: item.value, amount } : { productId: item.value, amount };
    }),
    tax: optional(message?.taxCents),
    shipping: optional(message?.shippingCents),
    discount: optional(message?.discountCents),
  };
}

function optional(value: bigint | undefined): Cents | undefined {
  return value === undefined ? undefined : centsFromInt64(value);
}
