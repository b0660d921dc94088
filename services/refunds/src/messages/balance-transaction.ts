import { create } from '@bufbuild/protobuf';
import {
  type BalanceTransaction as BalanceTransactionMessage,
  BalanceTransactionSchema,
} from '@eligo/proto/refunds/v1/refunds';
import { present } from '@eligo/values';
import type { BalanceTransaction } from '../domain/balance-transaction.ts';

/** A balance transaction as other services see it. */
export function balanceTransactionMessage(
  transaction: BalanceTransaction,
  testMode: boolean,
): BalanceTransactionMessage {
  const { amountCents, feeCents, availableOn } = transaction;
  return create(BalanceTransactionSchema, {
    balanceTransactionId: transaction.balanceTransactionId,
    type: transaction.type,
    amountCents: BigInt(amountCents),
    status: transaction.status,
    sourceId: transaction.sourceId,
    reportingCategory: transaction.reportingCategory,
    createdAtMs: BigInt(transaction.createdAt.getTime()),
    testMode,
    ...present({
      feeCents: feeCents === null ? null : BigInt(feeCents),
      netCents: feeCents === null ? null : BigInt(amountCents - feeCents),
      availableOnMs: availableOn === null ? null : BigInt(availableOn.getTime()),
      checkoutSessionId: transaction.checkoutSessionId,
    }),
  });
}
