import type { InvoiceStatement } from '@eligo/proto/billing/v1/billing';
import type { PaymentMethod } from '@eligo/proto/checkout/v1/checkout';
import type { Refund } from '@eligo/proto/refunds/v1/refunds';
import { cardInWords, dateInWords, dollars, eligibilityInWords, timeZoneInWords } from '@eligo/values';
import type { SoldByASession } from './invoice-of-session.ts';
import { productName } from './product-name.ts';

/** The documents of an invoice, before they are laid out: each row is a text and an amount in cents. */
export interface InvoiceDocument {
  readonly title: string;
  readonly testMode: boolean;
  readonly createdAt: Date;
  readonly facts: readonly (readonly [name: string, value: string])[];
  readonly items: readonly { readonly name: string; readonly notes: readonly string[]; readonly cents: number }[];
  readonly amounts: readonly Row[];
  readonly payments: readonly Row[];
  readonly refunds: readonly Row[];
  /** Older refunds than those that are listed. */
  readonly hasMoreRefunds: boolean;
}

type Row = readonly [name: string, cents: number];

/** What the other components know of an invoice. */
export interface InvoiceFacts {
  readonly statement: InvoiceStatement;
  readonly merchantName: string;
  readonly customerName: string | null;
  /** Whose days it names. */
  readonly timeZone: string;
  /** By product. */
  readonly names: ReadonlyMap<string, string>;
  readonly cards: ReadonlyMap<string, PaymentMethod>;
  /** Of the intents of its payments. */
  readonly refunds: readonly Refund[];
  readonly hasMoreRefunds: boolean;
  /** The session that sold the subscription, for an invoice that was paid with it. */
  readonly session: SoldByASession | undefined;
}

/** What the documents of an invoice say. The same facts give the same document. */
export function invoiceDocument(facts: InvoiceFacts): InvoiceDocument {
  const { statement, merchantName, customerName, session, cards, timeZone } = facts;
  const { invoice } = statement;
  if (invoice === undefined) throw new Error('The statement has no invoice');
  const payments = session?.payments ?? statement.payments;
  const amountDue = invoice.status === 'void' || invoice.status === 'uncollectible' ? 0n : invoice.amountDueCents;
  const rows: [string, string | null][] = [
    ['Merchant', merchantName],
    ['Billed to', customerName],
    ['Invoice', invoice.invoiceId],
    ['Number', statement.number === undefined ? null : String(statement.number)],
    ['Status', statusInWords[invoice.status] ?? invoice.status],
    ['Date', dateOf(invoice.createdAtMs, timeZone)],
    ['Period', daysOf(invoice, timeZone)],
    ['Paid', invoice.paidAtMs === undefined ? null : dateOf(invoice.paidAtMs, timeZone)],
    ['Time zone', timeZoneInWords(new Date(Number(invoice.createdAtMs)), timeZone)],
    ['Subscription', invoice.subscriptionId ?? null],
  ];
  const ofPayments = new Set(payments.map(({ paymentIntentId }) => paymentIntentId));
  return {
    title: `Invoice from ${merchantName}`,
    testMode: invoice.testMode,
    createdAt: new Date(Number(invoice.createdAtMs)),
    facts: rows.flatMap(([name, value]) => (value === null ? [] : [[name, value] as const])),
    items: session?.items ?? itemsOf(facts),
    amounts: [
      ...(session?.amounts ?? amountsOf(statement)),
      ['Total', Number(invoice.totalCents)],
      ['HSA/FSA-eligible amount', session?.eligibleCents ?? eligibleCentsOf(statement)],
      ['Paid', Number(invoice.amountPaidCents)],
      ['Due', Number(amountDue)],
    ],
    payments: payments.map((payment) => [
      `${dateOf(payment.atMs, timeZone)}: ${cardOfPayment(cards.get(payment.paymentMethodId ?? ''))}`,
      Number(payment.amountCents),
    ]),
    refunds: facts.refunds.flatMap((refund) => refundRows(refund, ofPayments, facts)),
    hasMoreRefunds: facts.hasMoreRefunds,
  };
}

// The item is used throughout.
const movedShare = 'Change of its share of a discount: ';

function itemsOf({ statement, names, timeZone }: InvoiceFacts): InvoiceDocument['items'] {
  const lines = statement.lines.map((line) => ({
    name: line.isShare
      ? productName(names, line.productId)
      : `${line.quantity} × ${productName(names, line.productId)}`,
    notes: [
      eligibilityInWords(line.eligibleCents > 0n ? (line.eligibility ?? null) : null),
      ...partOf(line.isShare ? movedShare : '', line, timeZone),
      ...(line.isShare ? [] : shareOf('Price', line.subtotalCents)),
      ...shareOf('Discounts', -line.discountCents),
      ...shareOf('Shipping', line.shippingCents),
      ...shareOf('Tax', line.taxCents),
    ],
    cents: Number(line.totalCents),
  }));
  const credits = statement.credits.map((credit) => ({
    name: credit.isShare ? productName(names, credit.productId) : `Credit: ${productName(names, credit.productId)}`,
    notes: [
      eligibilityInWords(credit.eligible ? (credit.eligibility ?? null) : null),
      ...partOf(credit.isShare ? movedShare : 'Unused time: ', credit, timeZone),
    ],
    cents: -Number(credit.amountCents),
  }));
  return [...lines, ...credits];
}

function partOf(
  what: string,
  { periodStartMs, periodEndMs }: Pick<InvoiceStatement['credits'][number], 'periodStartMs' | 'periodEndMs'>,
  timeZone: string,
): string[] {
  if (periodStartMs === undefined || periodEndMs === undefined) return [];
  return [`${what}${daysOf({ periodStartMs, periodEndMs }, timeZone)}`];
}

function shareOf(name: string, cents: bigint): string[] {
  return cents === 0n ? [] : [`${name} ${dollars(Number(cents))}`];
}

function amountsOf({ lines, credits }: InvoiceStatement): Row[] {
  const sum = (of: (line: InvoiceStatement['lines'][number]) => bigint) =>
    Number(lines.reduce((total, line) => total + of(line), 0n));
  const rows: Row[] = [
    ['Items', sum((line) => line.subtotalCents)],
    ['Discounts', -sum((line) => line.discountCents)],
    ['Shipping', sum((line) => line.shippingCents)],
    ['Tax', sum((line) => line.taxCents)],
    ['Credits', -Number(credits.reduce((total, credit) => total + credit.amountCents, 0n))],
  ];
  return rows.filter(([, cents]) => cents !== 0);
}

function eligibleCentsOf({ lines, credits }: InvoiceStatement): number {
  const charged = lines.reduce((total, line) => total + line.eligibleCents, 0n);
  return Number(credits.reduce((total, credit) => total - (credit.eligible ? credit.amountCents : 0n), charged));
}

// What went back to the cards of this invoice: a refund of a session can be of other cards, too.
function refundRows(
  refund: Refund,
  intents: ReadonlySet<string | undefined>,
  { cards, timeZone }: InvoiceFacts,
): Row[] {
  if (refund.status !== 'succeeded' && refund.status !== 'pending') return [];
  const note = refund.status === 'pending' ? ', pending' : '';
  return refund.items
    .filter(({ paymentIntentId }) => intents.has(paymentIntentId))
    .map(({ paymentMethodId, amountRefundedCents }) => [
      `${dateOf(refund.createdAtMs, timeZone)}: ${cardOfPayment(cards.get(paymentMethodId))}${note} (${refund.refundId})`,
      Number(amountRefundedCents),
    ]);
}

// Any card may pay for what is eligible: only one that is known to be a health card is called one.
function cardOfPayment(method: PaymentMethod | undefined): string {
  const card = method?.card;
  return cardInWords({
    isHealthCard: card?.hsaFsa === true,
    brand: card?.brand ?? null,
    last4: card?.last4 ?? null,
  });
}

function daysOf(period: { readonly periodStartMs: bigint; readonly periodEndMs: bigint }, timeZone: string): string {
  return `${dateOf(period.periodStartMs, timeZone)} to ${dateOf(period.periodEndMs, timeZone)}`;
}

function dateOf(timeMs: bigint, timeZone: string): string {
  return dateInWords(new Date(Number(timeMs)), timeZone);
}

const statusInWords: Readonly<Record<string, string>> = {
  draft: 'Draft',
  open: 'Open',
  paid: 'Paid',
  void: 'Void',
  uncollectible: 'Not collected',
};
