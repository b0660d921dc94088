import { create } from '@bufbuild/protobuf';
import { type Payout as PayoutMessage, PayoutSchema } from '@eligo/proto/refunds/v1/refunds';
import { present } from '@eligo/values';
import type { Payout } from '../domain/payout.ts';

/** A payout as other services see it. */
export function payoutMessage(payout: Payout, testMode: boolean): PayoutMessage {
  const { arrivalAt } = payout;
  return create(PayoutSchema, {
    payoutId: payout.payoutId,
    amountCents: BigInt(payout.amountCents),
    currency: payout.currency,
    status: payout.status,
    createdAtMs: BigInt(payout.createdAt.getTime()),
    testMode,
    ...present({
      arrivalDateMs: arrivalAt === null ? null : BigInt(arrivalAt.getTime()),
      failureCode: payout.failureCode,
      balanceTransactionId: payout.balanceTransactionId,
    }),
  });
}
