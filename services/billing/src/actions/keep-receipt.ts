import type { Scope, Tx } from '@eligo/postgres';
import type { RefundedCard, ReceiptPayment as SentPayment } from '@eligo/proto/events/v1/events';
import { wakeJobAfterCommit } from '@eligo/service';
import { newId } from '@eligo/values';
import type { Receipt, ReceiptPayment } from '../domain/receipt.ts';
import { addMail } from '../store/receipt-mails.ts';
import { insertReceipt } from '../store/receipts.ts';

/** The job that mails receipts. */
export const mailReceiptsJob = 'mail-receipts';

/** Keeps a receipt and has it mailed; nothing where the same one is kept already. */
export async function keepReceipt(tx: Tx, scope: Scope, receipt: Receipt): Promise<void> {
  if (!(await insertReceipt(tx, scope, receipt))) return;
  const { id: receiptId, createdAt: at } = receipt;
  await addMail(tx, scope, { id: newId('receipt_mail'), receiptId, cause: 'issued', at });
  wakeJobAfterCommit(tx, mailReceiptsJob);
}

/** A card and its amount, as a receipt keeps them. */
export function keptCard(sent: SentPayment | RefundedCard): ReceiptPayment {
  return {
    leg: sent.leg === 'health' ? 'health' : 'other',
    cardBrand: sent.cardBrand ?? null,
    cardLast4: sent.cardLast4 ?? null,
    amountCents: Number(sent.amountCents),
  };
}
