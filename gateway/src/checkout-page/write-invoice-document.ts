import type { Exchange } from '../api.ts';
import { FileAnswer } from '../http/api-request.ts';
import { writeFileAnswer } from '../http/write-file-answer.ts';
import type { InvoiceDocument } from '../reports/invoice-document.ts';
import { invoiceHtml } from '../reports/invoice-html.ts';
import { pageHeaders } from './write-file.ts';

/** Writes an invoice for its customer as a page without scripts. Neither document is cached: a later refund changes it. */
export function writeInvoiceHtml({ response, requestId, headers }: Exchange, document: InvoiceDocument): void {
  const html = Buffer.from(invoiceHtml(document));
  if (response.headersSent || response.destroyed) return;
  response.writeHead(200, [
    ...['Content-Type', 'text/html; charset=utf-8', 'Content-Length', String(html.length), 'Request-Id', requestId],
    ...['Content-Security-Policy', policy, 'Cache-Control', 'no-store'],
    ...pageHeaders,
    ...headers,
  ]);
  response.end(response.req.method === 'HEAD' ? undefined : html);
}

/** Writes the same as a PDF to keep. */
export async function writeInvoicePdf(
  { response, requestId, headers }: Exchange,
  invoiceId: string,
  pdf: Buffer,
): Promise<void> {
  const file = FileAnswer.of(pdf, { type: 'application/pdf', filename: `invoice-${invoiceId}.pdf` });
  await writeFileAnswer(response, file, requestId, headers);
}

// Its styles are inline, and it loads nothing.
const policy = [
  "default-src 'none'",
  "style-src 'unsafe-inline'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');
