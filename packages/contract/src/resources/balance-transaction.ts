import type { BalanceTransaction } from '@eligo/proto/refunds/v1/refunds';
import { centsFromInt64 } from '@eligo/values';
import { z } from 'zod';
import { expandsTo } from '../expansion.ts';
import { answer, idOf } from '../fields.ts';
import { isoTime } from '../times.ts';

/** What moved on the balance; a type that the processor has and this list does not is `other`. */
export const balanceTransactionTypes = [
  ...(['charge', 'refund', 'refund_failure', 'dispute', 'dispute_reversal', 'payout', 'payout_failure'] as const),
  ...(['application_fee', 'adjustment', 'stripe_fee', 'other'] as const),
] as const;

export const balanceTransactionSchema = expandsTo(
  'balance_transaction',
  z.strictObject({
    balance_transaction_id: idOf('balance_transaction'),
    type: z.enum(balanceTransactionTypes),
    amount: answer.cents,
    fee: answer.cents.nullable(),
    net: answer.cents.nullable(),
    status: z.enum(['pending', 'available']),
    available_on: answer.time.nullable(),
    source_id: z.string(),
    checkout_session_id: answer.text,
    reporting_category: z.string(),
    test_mode: z.boolean(),
    created_at: answer.time,
  }),
);

export function renderBalanceTransaction(transaction: BalanceTransaction): z.infer<typeof balanceTransactionSchema> {
  const { feeCents, netCents, availableOnMs } = transaction;
  return {
    balance_transaction_id: transaction.balanceTransactionId,
    type: transaction.type as (typeof balanceTransactionTypes)[number],
    amount: centsFromInt64(transaction.amountCents),
    fee: feeCents === undefined ? null : centsFromInt64(feeCents),
    net: netCents === undefined ? null : centsFromInt64(netCents),
    status: transaction.status as 'pending' | 'available',
    available_on: availableOnMs === undefined ? null : isoTime(availableOnMs),
    source_id: transaction.sourceId,
    checkout_session_id: transaction.checkoutSessionId ?? null,
    reporting_category: transaction.reportingCategory,
    test_mode: transaction.testMode,
    created_at: isoTime(transaction.createdAtMs),
  };
}
