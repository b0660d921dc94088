import type { Payout } from '@eligo/proto/refunds/v1/refunds';
import { centsFromInt64 } from '@eligo/values';
import { z } from 'zod';
import { type Expansion, expandable, noExpansion, type References } from '../expansion.ts';
import { answer, idOf } from '../fields.ts';
import { isoTime } from '../times.ts';

const payoutStatuses = ['pending', 'in_transit', 'paid', 'failed', 'canceled'] as const;

export const payoutSchema = z.strictObject({
  payout_id: idOf('payout'),
  amount: answer.cents,
  currency: z.string(),
  status: z.enum(payoutStatuses),
  arrival_date: answer.time.nullable(),
  failure_code: answer.text,
  balance_transaction: expandable('balance_transaction').nullable(),
  test_mode: z.boolean(),
  created_at: answer.time,
});

export const payoutReferences: References<Payout> = {
  balance_transaction: { kind: 'balance_transaction', ids: (payout) => [payout.balanceTransactionId] },
};

export function renderPayout(payout: Payout, expansion: Expansion = noExpansion): z.infer<typeof payoutSchema> {
  const { arrivalDateMs } = payout;
  return {
    payout_id: payout.payoutId,
    amount: centsFromInt64(payout.amountCents),
    currency: payout.currency,
    status: payout.status as (typeof payoutStatuses)[number],
    arrival_date: arrivalDateMs === undefined ? null : isoTime(arrivalDateMs),
    failure_code: payout.failureCode ?? null,
    balance_transaction: expansion.of('balance_transaction', payout.balanceTransactionId),
    test_mode: payout.testMode,
    created_at: isoTime(payout.createdAtMs),
  };
}
