import { openPdf } from '@eligo/pdf';
import { dollars } from '@eligo/values';
import {
  chargedOn,
  collectedByShopCents,
  dayInWords,
  itemInWords,
  paidByInWords,
  paidWithInWords,
  type ReceiptContent,
  whyEligible,
} from '../domain/receipt.ts';

/** The receipt as a PDF. A character that its fonts do not have is a question mark; the HTML has it. */
export async function receiptPdf(receiptId: string, content: ReceiptContent): Promise<Buffer> {
  const { merchantName, items, amounts, payments } = content;
  const title = `Receipt from ${merchantName}`;
  const pages = await openPdf({ title, createdAt: new Date(content.purchasedAt) });
  pages.title(title);
  if (content.testMode) {
    pages.text('Test mode: no money was charged.');
    pages.gap();
  }
  if (content.shopperName !== null) pages.text(`Purchased by: ${content.shopperName}`);
  pages.text(`Date of purchase: ${dayInWords(content, content.purchasedAt)}`);
  const charged = chargedOn(content);
  if (charged !== null) pages.text(`Date of charge: ${charged}`);
  if (content.orderReference !== null) pages.text(`Order: ${content.orderReference}`);
  pages.text(`Receipt: ${receiptId}`);
  pages.heading('Items');
  for (const item of items) {
    const cards = paidWithInWords(item, payments);
    const paid = cards === undefined ? 'Paid in another way' : `Paid with ${cards}`;
    pages.row([itemInWords(item, 'x'), `${whyEligible(item)}. ${paid}.`], dollars(item.totalCents));
  }
  pages.heading('Amounts');
  pages.row('Items', dollars(amounts.subtotalCents));
  if (amounts.discountCents !== 0) pages.row('Discounts', dollars(-amounts.discountCents));
  if (amounts.shippingCents !== 0) pages.row('Shipping', dollars(amounts.shippingCents));
  if (amounts.taxCents !== 0) pages.row('Tax', dollars(amounts.taxCents));
  if (amounts.feeCents !== 0) pages.row('Fees', dollars(amounts.feeCents));
  pages.row('Total', dollars(amounts.totalCents));
  pages.heading('Payments');
  for (const payment of payments) pages.row(paidByInWords(payment), dollars(payment.amountCents));
  const remaining = collectedByShopCents(content);
  if (remaining > 0) pages.row(`Paid to ${merchantName} in another way`, dollars(remaining));
  return pages.end();
}
