import { documentUrl, isInvoicePage } from './page-api.ts';
import type { Strings } from './strings.ts';

/** The documents of the invoice that this page is of; nothing on the page of a session. They open beside the page, which may hold a card that was typed. */
export function InvoiceDocuments({ strings }: { strings: Strings }) {
  if (!isInvoicePage) return null;
  return (
    <p class="documents">
      <a href={documentUrl('html')} target="_blank" rel="noreferrer">
        {strings.viewInvoice}
      </a>
      <a href={documentUrl('pdf')} target="_blank" rel="noreferrer">
        {strings.invoicePdf}
      </a>
    </p>
  );
}
