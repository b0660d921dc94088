import { openPdf } from '@eligo/pdf';
import { dollars, eligibilityInWords, escapedHtml } from '@eligo/values';
import {
  correctionInWords,
  dayInWords,
  paidByInWords,
  type RefundedItem,
  type RefundReceiptContent,
  refundTitle,
} from '../domain/receipt.ts';
import { cell, head, headRight, right } from './table-style.ts';

/** The receipt of a refund as a page that a browser and a mail reader show alike: tables, inline style, nothing from elsewhere. */
export function refundReceiptHtml(receiptId: string, content: RefundReceiptContent): string {
  const { refundedItems, refundedCards, amountCents, testMode } = content;
  const title = escapedHtml(refundTitle(content));
  const correction = correctionInWords(content);
  const items = refundedItems.map((item) => row([item.description, ...itemInWords(item, content)], item.amountCents));
  const cards = refundedCards.map((card) => row([paidByInWords(card)], card.amountCents));
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${title}</title></head>
<body style="font-family:Helvetica,Arial,sans-serif;color:#1a1a1a;max-width:640px;margin:0 auto;padding:24px">
<h1 style="font-size:22px">${title}</h1>
${testMode ? '<p><strong>Test mode: no money was moved.</strong></p>\n' : ''}${correction === undefined ? '' : `<p>${escapedHtml(correction)}</p>\n`}<table role="presentation" style="border-collapse:collapse">
${factsOf(receiptId, content)
  .map(([name, value]) => `<tr><td ${cell}>${escapedHtml(name)}</td><td ${cell}>${escapedHtml(value)}</td></tr>`)
  .join('\n')}
</table>
${items.length === 0 ? '' : itemTable(items)}<h2 style="font-size:17px">Returned to</h2>
<table style="border-collapse:collapse;width:100%">
${[...cards, row(['Total refunded'], amountCents)].join('\n')}
</table>
<p style="color:#555;font-size:13px">${noteOf(content)}</p>
</body></html>
`;
}

/** The same as a PDF. A character that its fonts do not have is a question mark; the HTML has it. */
export async function refundReceiptPdf(receiptId: string, content: RefundReceiptContent): Promise<Buffer> {
  const title = refundTitle(content);
  const pages = await openPdf({ title, createdAt: new Date(content.refundedAt) });
  pages.title(title);
  const correction = correctionInWords(content);
  for (const text of [content.testMode ? 'Test mode: no money was moved.' : undefined, correction]) {
    if (text === undefined) continue;
    pages.text(text);
    pages.gap();
  }
  for (const [name, value] of factsOf(receiptId, content)) pages.text(`${name}: ${value}`);
  if (content.refundedItems.length > 0) pages.heading('Refunded');
  for (const item of content.refundedItems) {
    const [eligibility, card] = itemInWords(item, content);
    pages.row([item.description, `${eligibility}. Returned to ${card}.`], dollars(item.amountCents));
  }
  pages.heading('Returned to');
  for (const card of content.refundedCards) pages.row(paidByInWords(card), dollars(card.amountCents));
  pages.row('Total refunded', dollars(content.amountCents));
  pages.gap();
  pages.text(noteOf(content));
  return pages.end();
}

function factsOf(receiptId: string, content: RefundReceiptContent): [string, string][] {
  const facts: [string, string | null][] = [
    ['Merchant', content.merchantName],
    ['Purchased by', content.shopperName],
    ['Date of purchase', dayInWords(content, content.purchasedAt)],
    ['Date of this receipt', dayInWords(content, content.refundedAt)],
    ['Order', content.orderReference],
    ['Refund', content.refundId],
    ['Receipt', receiptId],
  ];
  return facts.flatMap(([name, value]) => (value === null ? [] : [[name, value]]));
}

function itemInWords(
  { eligibility, returnedTo }: RefundedItem,
  { refundedCards }: RefundReceiptContent,
): [string, string] {
  const card = refundedCards[returnedTo];
  return [eligibilityInWords(eligibility), card === undefined ? 'a card' : paidByInWords(card)];
}

function row(texts: readonly string[], cents: number): string {
  const cells = texts.map((text) => `<td ${cell}>${escapedHtml(text)}</td>`).join('');
  return `<tr>${cells}<td ${right}>${dollars(cents)}</td></tr>`;
}

function itemTable(rows: readonly string[]): string {
  return `<h2 style="font-size:17px">Refunded</h2>
<table style="border-collapse:collapse;width:100%">
<tr><th ${head}>Item</th><th ${head}>Eligibility</th><th ${head}>Returned to</th><th ${headRight}>Amount</th></tr>
${rows.join('\n')}
</table>
`;
}

function noteOf({ amountCents }: RefundReceiptContent): string {
  const delay = amountCents > 0 ? 'Your bank may take several days to show a refund. ' : '';
  return `${delay}Keep this receipt: your plan administrator may ask for it.`;
}
