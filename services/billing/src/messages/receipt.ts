import { create } from '@bufbuild/protobuf';
import type { Scope } from '@eligo/postgres';
import { type Receipt, ReceiptSchema } from '@eligo/proto/billing/v1/billing';
import { present } from '@eligo/values';
import type * as domain from '../domain/receipt.ts';

/** The message of a receipt. */
export function receiptMessage(scope: Scope, receipt: domain.MailedReceipt): Receipt {
  const { mailedAt, subscriptionId, refundId } = receipt;
  return create(ReceiptSchema, {
    receiptId: receipt.id,
    checkoutSessionId: receipt.checkoutSessionId,
    amountCents: BigInt(receipt.amountCents),
    mailStatus: receipt.mailStatus ?? '',
    testMode: scope.testMode,
    createdAtMs: BigInt(receipt.createdAt.getTime()),
    ...present({ subscriptionId, refundId, mailedAtMs: mailedAt && BigInt(mailedAt.getTime()) }),
  });
}
