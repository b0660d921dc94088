import { setImmediate as turn } from 'node:timers/promises';
import { openPdf } from '@eligo/pdf';
import { dollars } from '@eligo/values';
import type { InvoiceDocument } from './invoice-document.ts';

/** An invoice as a PDF. A character that its fonts do not have is a question mark; the HTML has it. */
export async function invoicePdf(document: InvoiceDocument): Promise<Buffer> {
  const { title, createdAt, testMode, facts, items, amounts, payments, refunds, hasMoreRefunds } = document;
  const pages = await openPdf({ title, createdAt });
  pages.title(title);
  if (testMode) {
    pages.text('Test mode: no money was charged.');
    pages.gap();
  }
  for (const [name, value] of facts) pages.text(`${name}: ${value}`);
  pages.heading('Items');
  // Two hundred lines and more, and a hundred refunds of each card: other requests have their turn after each row.
  for (const { name, notes, cents } of items) {
    pages.row([name.replace(' × ', ' x '), ...notes], dollars(cents));
    await turn();
  }
  for (const [heading, rows] of [
    ['Amounts', amounts],
    ['Payments', payments],
    ['Refunds', refunds],
  ] as const) {
    if (rows.length > 0) pages.heading(heading);
    for (const [name, cents] of rows) {
      pages.row(name, dollars(cents));
      await turn();
    }
  }
  if (hasMoreRefunds) pages.text('Older refunds are not listed.');
  return pages.end();
}
