import {
  cardInWords,
  collectedByShopCents,
  dollars,
  eligibilityInWords,
  type ReceiptContent,
} from '../domain/receipt.ts';
import { dateInWords } from './receipt-html.ts';

/**
 * The receipt as a PDF, in the fonts that every reader has. They hold the characters of Western European languages; any other character is
 * written as a question mark, and the HTML has it.
 */
export async function receiptPdf(receiptId: string, content: ReceiptContent): Promise<Buffer> {
  // Loaded with the first receipt: most processes render none.
  const { default: PDFDocument } = await import('pdfkit');
  const { merchantName, items, amounts, payments } = content;
  const document = new PDFDocument({
    size: 'LETTER',
    margin: 54,
    compress: true,
    info: {
      Title: plain(`Receipt from ${merchantName}`),
      // The same content gives the same bytes.
      CreationDate: new Date(content.purchasedAt),
    },
  });
  const chunks: Buffer[] = [];
  const ended = new Promise<void>((resolve, reject) => {
    document.on('data', (chunk: Buffer) => chunks.push(chunk));
    document.once('end', resolve).once('error', reject);
  });
  const width = document.page.width - 108;
  const row = (name: string, value: string) => {
    const top = document.y;
    document.text(plain(name), 54, top, { width: width - 100 });
    const next = document.y;
    document.text(value, 54 + width - 95, top, { width: 95, align: 'right' });
    document.x = 54;
    document.y = Math.max(next, document.y) + 3;
  };
  const heading = (text: string) => {
    document
      .moveDown(0.8)
      .font('Helvetica-Bold')
      .fontSize(12)
      .text(text, 54)
      .moveDown(0.3)
      .font('Helvetica')
      .fontSize(10);
  };
  document
    .font('Helvetica-Bold')
    .fontSize(18)
    .text(plain(`Receipt from ${merchantName}`))
    .moveDown(0.5);
  document.font('Helvetica').fontSize(10);
  if (content.testMode) document.text('Test mode: no money was charged.').moveDown(0.3);
  if (content.shopperName !== null) document.text(plain(`Purchased by: ${content.shopperName}`));
  document.text(`Date of purchase: ${dateInWords(content.purchasedAt)}`);
  if (content.orderReference !== null) document.text(plain(`Order: ${content.orderReference}`));
  document.text(`Receipt: ${receiptId}`);
  heading('Items');
  for (const { description, quantity, totalCents, eligibility, paidBy } of items) {
    const payment = paidBy === null ? undefined : payments[paidBy];
    const paid = payment === undefined ? 'Paid in another way' : `Paid with ${cardInWords(payment)}`;
    row(`${quantity} x ${description}\n${eligibilityInWords(eligibility)}. ${paid}.`, dollars(totalCents));
  }
  heading('Amounts');
  row('Items', dollars(amounts.subtotalCents));
  if (amounts.discountCents !== 0) row('Discounts', dollars(-amounts.discountCents));
  if (amounts.shippingCents !== 0) row('Shipping', dollars(amounts.shippingCents));
  if (amounts.taxCents !== 0) row('Tax', dollars(amounts.taxCents));
  if (amounts.feeCents !== 0) row('Fees', dollars(amounts.feeCents));
  row('Total', dollars(amounts.totalCents));
  heading('Payments');
  for (const payment of payments) row(cardInWords(payment), dollars(payment.amountCents));
  const remaining = collectedByShopCents(content);
  if (remaining > 0) row(`Paid to ${merchantName} in another way`, dollars(remaining));
  document.end();
  await ended;
  return Buffer.concat(chunks);
}

// The standard fonts are encoded as Windows-1252.
function plain(text: string): string {
  return text.replaceAll(/[^\n\x20-\x7e\xa0-\xff€‚ƒ„…†‡ˆ‰Š‹ŒŽ‘’“”•–—˜™š›œžŸ]/gu, '?');
}
