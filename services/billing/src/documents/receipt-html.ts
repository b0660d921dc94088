import { dollars, escapedHtml } from '@eligo/values';
import {
  chargedOn,
  collectedByShopCents,
  dayInWords,
  itemInWords,
  paidByInWords,
  paidWithInWords,
  type ReceiptContent,
  type ReceiptItem,
  whyEligible,
} from '../domain/receipt.ts';
import { cell, head, headRight, right } from './table-style.ts';

/** The receipt as a page that a browser and a mail reader show alike: tables, inline style, nothing from elsewhere. */
export function receiptHtml(receiptId: string, content: ReceiptContent): string {
  const { merchantName, shopperName, purchasedAt, orderReference, items, amounts, payments, testMode } = content;
  const facts = [
    ['Merchant', merchantName],
    ['Purchased by', shopperName],
    ['Date of purchase', dayInWords(content, purchasedAt)],
    ['Date of charge', chargedOn(content)],
    ['Order', orderReference],
    ['Receipt', receiptId],
  ].filter(([, value]) => value !== null);
  const sums = [
    ['Items', amounts.subtotalCents],
    ['Discounts', -amounts.discountCents],
    ['Shipping', amounts.shippingCents],
    ['Tax', amounts.taxCents],
    ['Fees', amounts.feeCents],
  ].filter(([, value]) => value !== 0) as [string, number][];
  const paid = payments.map((payment): [string, number] => [paidByInWords(payment), payment.amountCents]);
  const remaining = collectedByShopCents(content);
  if (remaining > 0) paid.push([`Paid to ${merchantName} in another way`, remaining]);
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Receipt from ${escapedHtml(merchantName)}</title></head>
<body style="font-family:Helvetica,Arial,sans-serif;color:#1a1a1a;max-width:640px;margin:0 auto;padding:24px">
<h1 style="font-size:22px">Receipt from ${escapedHtml(merchantName)}</h1>
${testMode ? '<p><strong>Test mode: no money was charged.</strong></p>\n' : ''}<table role="presentation" style="border-collapse:collapse">
${facts.map(([name, value]) => `<tr><td ${cell}>${escapedHtml(name ?? '')}</td><td ${cell}>${escapedHtml(value ?? '')}</td></tr>`).join('\n')}
</table>
<h2 style="font-size:17px">Items</h2>
<table style="border-collapse:collapse;width:100%">
<tr><th ${head}>Item</th><th ${head}>Eligibility</th><th ${head}>Paid with</th><th ${headRight}>Amount</th></tr>
${items.map((item) => itemRow(item, content)).join('\n')}
</table>
<h2 style="font-size:17px">Amounts</h2>
<table style="border-collapse:collapse;width:100%">
${sums.map(([name, value]) => sumRow(name, value)).join('\n')}
${sumRow('Total', amounts.totalCents)}
</table>
<h2 style="font-size:17px">Payments</h2>
<table style="border-collapse:collapse;width:100%">
${paid.map(([name, value]) => sumRow(name, value)).join('\n')}
</table>
<p style="color:#555;font-size:13px">Keep this receipt. Your plan administrator may ask for it.</p>
</body></html>
`;
}

function itemRow(item: ReceiptItem, { payments }: ReceiptContent) {
  const { totalCents } = item;
  const cells = [itemInWords(item, '×'), whyEligible(item), paidWithInWords(item, payments) ?? 'Another way'];
  return `<tr>${cells.map((text) => `<td ${cell}>${escapedHtml(text)}</td>`).join('')}<td ${right}>${dollars(totalCents)}</td></tr>`;
}

function sumRow(name: string, cents: number): string {
  return `<tr><td ${cell}>${escapedHtml(name)}</td><td ${right}>${dollars(cents)}</td></tr>`;
}
