import type { Receipt } from '@eligo/proto/billing/v1/billing';
import { centsFromInt64 } from '@eligo/values';
import { z } from 'zod';
import { answer, idOf } from '../fields.ts';
import { isoTime } from '../times.ts';

export const receiptSchema = z.strictObject({
  receipt_id: idOf('receipt'),
  checkout_session: idOf('checkout_session'),
  subscription: answer.text,
  refund: idOf('refund').nullable(),
  amount: answer.cents,
  mail_status: z
    .enum(['pending', 'sent', 'failed'])
    .nullable()
    .describe('Null: the receipt is not mailed, because the session has no email address.'),
  mailed_at: answer.time.nullable(),
  test_mode: z.boolean(),
  created_at: answer.time,
});

export function renderReceipt(receipt: Receipt): z.infer<typeof receiptSchema> {
  return {
    receipt_id: receipt.receiptId,
    checkout_session: receipt.checkoutSessionId,
    subscription: receipt.subscriptionId ?? null,
    refund: receipt.refundId ?? null,
    amount: centsFromInt64(receipt.amountCents),
    mail_status:
      receipt.mailStatus === '' ? null : (receipt.mailStatus as z.infer<typeof receiptSchema>['mail_status']),
    mailed_at: receipt.mailedAtMs === undefined ? null : isoTime(receipt.mailedAtMs),
    test_mode: receipt.testMode,
    created_at: isoTime(receipt.createdAtMs),
  };
}
