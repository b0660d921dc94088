import { type Database, type Scope, withTx } from '@eligo/postgres';
import { receiptHtml } from '../documents/receipt-html.ts';
import { receiptPdf } from '../documents/receipt-pdf.ts';
import { refundReceiptHtml, refundReceiptPdf } from '../documents/refund-receipt.ts';
import { isOfRefund, type Receipt } from '../domain/receipt.ts';
import { findDocuments, findReceipt, keepDocuments, type ReceiptDocuments } from '../store/receipts.ts';

// What a receipt says changes once, when its shopper is erased.
const mostRenderings = 2;

/** The documents of a receipt: rendered when they are first needed, and the same bytes from then on, unless its shopper is erased. */
export async function receiptDocuments(database: Database, scope: Scope, receipt: Receipt): Promise<ReceiptDocuments> {
  const { id } = receipt;
  let known: Receipt | undefined = receipt;
  for (let renderings = 0; known !== undefined && renderings < mostRenderings; renderings++) {
    const stored = await findDocuments(database, scope, id);
    if (stored !== undefined) return stored;
    const current: Receipt = known;
    const rendered = await renderDocuments(current);
    await withTx(database, scope, (tx) => keepDocuments(tx, scope, current, rendered));
    // Another process may have been first.
    const kept = await findDocuments(database, scope, id);
    if (kept !== undefined) return kept;
    known = await findReceipt(database, scope, id);
  }
  throw new Error(`The documents of receipt ${id} were not stored`);
}

async function renderDocuments({ id, content }: Receipt): Promise<ReceiptDocuments> {
  return isOfRefund(content)
    ? { html: refundReceiptHtml(id, content), pdf: await refundReceiptPdf(id, content) }
    : { html: receiptHtml(id, content), pdf: await receiptPdf(id, content) };
}
