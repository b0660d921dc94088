import { type Database, type Scope, withTx } from '@eligo/postgres';
import { receiptHtml } from '../documents/receipt-html.ts';
import { receiptPdf } from '../documents/receipt-pdf.ts';
import { refundReceiptHtml, refundReceiptPdf } from '../documents/refund-receipt.ts';
import { isOfRefund, type Receipt } from '../domain/receipt.ts';
import { findDocuments, keepDocuments, type ReceiptDocuments } from '../store/receipts.ts';

/** The documents of a receipt: rendered when they are first needed, and the same bytes from then on. */
export async function receiptDocuments(database: Database, scope: Scope, receipt: Receipt): Promise<ReceiptDocuments> {
  const { id, content } = receipt;
  const stored = await findDocuments(database, scope, id);
  if (stored !== undefined) return stored;
  const rendered = isOfRefund(content)
    ? { html: refundReceiptHtml(id, content), pdf: await refundReceiptPdf(id, content) }
    : { html: receiptHtml(id, content), pdf: await receiptPdf(id, content) };
  await withTx(database, scope, (tx) => keepDocuments(tx, scope, id, rendered));
  // Another process may have been first.
  const kept = await findDocuments(database, scope, id);
  if (kept === undefined) throw new Error(`The documents of receipt ${id} were not stored`);
  return kept;
}
