import { routes } from '@eligo/contract';
import { type Binding, bind } from '../bind.ts';
import { invoiceHtml } from '../reports/invoice-html.ts';
import { invoicePdf } from '../reports/invoice-pdf.ts';
import type { ReadInvoiceDocument } from '../reports/read-invoice-document.ts';

/** The documents of an invoice. */
export function invoiceDocumentBindings(readInvoice: ReadInvoiceDocument): Binding[] {
  return [
    bind(routes.invoices.getDocument, async ({ id, key, call, turn }) => {
      const document = await readInvoice(key.accountId, id, call);
      // A slow peer holds no turn.
      const pdf = await turn.runExpensive(() => invoicePdf(document));
      return { invoice_document: { html: invoiceHtml(document), pdf: pdf.toString('base64') } };
    }),
  ];
}
