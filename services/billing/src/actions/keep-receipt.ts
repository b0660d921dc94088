import type { Scope, Tx } from '@eligo/postgres';
import type { RefundedCard, ReceiptPayment as SentPayment } from '@eligo/proto/events/v1/events';
import { wakeJobAfterCommit } from '@eligo/service';
import { newId } from '@eligo/values';
import { erasedEmail, type Receipt, type ReceiptPayment } from '../domain/receipt.ts';
import { isErased, lockReceipts } from '../store/erased-sessions.ts';
import { addMail, giveUpMails } from '../store/receipt-mails.ts';
import { insertReceipt } from '../store/receipts.ts';

/** The job that mails receipts. */
export const mailReceiptsJob = 'mail-receipts';

/**
 * Keeps a receipt, and has it mailed if it has an address; nothing where the same one is kept already. That of a shopper who was erased after the command was sent has no name and
 * no address, and is mailed to nobody.
 */
export async function keepReceipt(tx: Tx, scope: Scope, receipt: Receipt): Promise<void> {
  await lockReceipts(tx, scope, [receipt.checkoutSessionId]);
  const erased = await isErased(tx, scope, receipt.checkoutSessionId);
  const kept = erased ? withoutName(receipt) : receipt;
  if (!(await insertReceipt(tx, scope, kept)) || kept.email === null) return;
  const { id: receiptId, createdAt: at } = receipt;
  await addMail(tx, scope, { id: newId('receipt_mail'), receiptId, cause: 'issued', at });
  if (erased) await giveUpMails(tx, scope, [receiptId]);
  else wakeJobAfterCommit(tx, mailReceiptsJob);
}

function withoutName(receipt: Receipt): Receipt {
  return { ...receipt, email: erasedEmail, content: { ...receipt.content, shopperName: null } };
}

/** A card and its amount, as a receipt keeps them. */
export function keptCard(sent: SentPayment | RefundedCard): ReceiptPayment {
  return {
    leg: sent.leg === 'health' ? 'health' : 'other',
    cardKind: sent.cardKind === 'health' || sent.cardKind === 'other' ? sent.cardKind : 'unknown',
    cardBrand: sent.cardBrand ?? null,
    cardLast4: sent.cardLast4 ?? null,
    amountCents: Number(sent.amountCents),
  };
}
