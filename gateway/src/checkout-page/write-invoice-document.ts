import type { Exchange } from '../api.ts';
import { FileAnswer } from '../http/api-request.ts';
import { writeFileAnswer } from '../http/write-file-answer.ts';
import type { InvoiceDocument } from '../reports/invoice-document.ts';
import { invoiceHtml } from '../reports/invoice-html.ts';
import { invoicePdf } from '../reports/invoice-pdf.ts';

/** Writes an invoice for its customer: a page without scripts, or a PDF to keep. Neither is cached: a later refund changes it. */
export async function writeInvoiceDocument(
  exchange: Exchange,
  invoiceId: string,
  document: InvoiceDocument,
  format: 'html' | 'pdf',
): Promise<void> {
  const { response, requestId, headers } = exchange;
  if (format === 'pdf') {
    const pdf = await invoicePdf(document);
    const file = { type: 'application/pdf', filename: `invoice-${invoiceId}.pdf`, sizeBytes: pdf.length };
    await writeFileAnswer(response, new FileAnswer({ ...file, pieces: wholeOf(pdf) }), requestId, headers);
    return;
  }
  const html = Buffer.from(invoiceHtml(document));
  if (response.headersSent || response.destroyed) return;
  response.writeHead(200, [
    ...['Content-Type', 'text/html; charset=utf-8', 'Content-Length', String(html.length), 'Request-Id', requestId],
    ...['Content-Security-Policy', policy, 'X-Content-Type-Options', 'nosniff', 'Referrer-Policy', 'no-referrer'],
    ...['Strict-Transport-Security', 'max-age=31536000', 'Cross-Origin-Opener-Policy', 'same-origin'],
    ...['Cache-Control', 'no-store'],
    ...headers,
  ]);
  response.end(response.req.method === 'HEAD' ? undefined : html);
}

// Its styles are inline, and it loads nothing.
const policy = [
  "default-src 'none'",
  "style-src 'unsafe-inline'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

async function* wholeOf(content: Buffer): AsyncGenerator<Buffer> {
  yield content;
}
