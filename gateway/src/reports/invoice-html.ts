import { dollars, escapedHtml } from '@eligo/values';
import type { InvoiceDocument } from './invoice-document.ts';

/** An invoice as a page that a browser and a mail reader show alike: tables, inline style, nothing from elsewhere. */
export function invoiceHtml(document: InvoiceDocument): string {
  const { title, testMode, facts, items, amounts, payments, refunds, hasMoreRefunds } = document;
  const rows = (of: InvoiceDocument['amounts']) =>
    `<table style="border-collapse:collapse;width:100%">\n${of.map(([name, cents]) => row(escapedHtml(name), cents)).join('\n')}\n</table>`;
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${escapedHtml(title)}</title></head>
<body style="font-family:Helvetica,Arial,sans-serif;color:#1a1a1a;max-width:640px;margin:0 auto;padding:24px">
<h1 style="font-size:22px">${escapedHtml(title)}</h1>
${testMode ? '<p><strong>Test mode: no money was charged.</strong></p>\n' : ''}<table role="presentation" style="border-collapse:collapse">
${facts.map(([name, value]) => `<tr><td ${cell}>${escapedHtml(name)}</td><td ${cell}>${escapedHtml(value)}</td></tr>`).join('\n')}
</table>
<h2 ${heading}>Items</h2>
<table style="border-collapse:collapse;width:100%">
${items.map(({ name, notes, cents }) => row(`${escapedHtml(name)}<br><span style="color:#555;font-size:13px">${notes.map(escapedHtml).join('<br>')}</span>`, cents)).join('\n')}
</table>
<h2 ${heading}>Amounts</h2>
${rows(amounts)}
${payments.length === 0 ? '' : `<h2 ${heading}>Payments</h2>\n${rows(payments)}\n`}${refunds.length === 0 ? '' : `<h2 ${heading}>Refunds</h2>\n${rows(refunds)}\n`}${hasMoreRefunds ? '<p>Older refunds are not listed.</p>\n' : ''}</body></html>
`;
}

function row(name: string, cents: number): string {
  return `<tr><td ${cell}>${name}</td><td style="padding:4px 0;text-align:right;vertical-align:top;white-space:nowrap">${dollars(cents)}</td></tr>`;
}

const cell = 'style="padding:4px 12px 4px 0;vertical-align:top"';
const heading = 'style="font-size:17px"';
