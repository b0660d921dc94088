import { create } from '@bufbuild/protobuf';
import { textOfPdf } from '@eligo/pdf/test-support';
import { InvoiceStatementSchema } from '@eligo/proto/billing/v1/billing';
import { PaymentMethodSchema, SubstantiationSchema } from '@eligo/proto/checkout/v1/checkout';
import { RefundSchema } from '@eligo/proto/refunds/v1/refunds';
import { newId } from '@eligo/values';
import { describe, expect, test } from 'vitest';
import { type InvoiceFacts, invoiceDocument } from '../src/reports/invoice-document.ts';
import { invoiceHtml } from '../src/reports/invoice-html.ts';
import { soldByASession } from '../src/reports/invoice-of-session.ts';
import { invoicePdf } from '../src/reports/invoice-pdf.ts';

const time = (date: string) => BigInt(Date.parse(date));
const [monitor, towel] = [newId('product'), newId('product')];
const intents = { health: newId('payment_intent'), other: newId('payment_intent') };
const cards = { health: newId('payment_method'), other: newId('payment_method') };
const cardOf = (id: string, last4: string, hsaFsa: boolean) =>
  create(PaymentMethodSchema, { paymentMethodId: id, card: { brand: 'visa', last4, hsaFsa } });

const part = { periodStartMs: time('2026-04-16'), periodEndMs: time('2026-05-01') };
const statement = create(InvoiceStatementSchema, {
  invoice: {
    ...{ invoiceId: newId('invoice'), totalCents: 4_025n, amountPaidCents: 4_025n, status: 'paid', testMode: true },
    ...{ customerId: newId('customer'), subscriptionId: newId('subscription'), createdAtMs: time('2026-05-01') },
    ...{ periodStartMs: time('2026-05-01'), periodEndMs: time('2026-06-01'), paidAtMs: time('2026-05-02') },
  },
  number: 17n,
  lines: [
    {
      ...{ productId: monitor, quantity: 2n, subtotalCents: 3_000n, discountCents: 300n, taxCents: 225n },
      ...{ shippingCents: 100n, totalCents: 3_025n, eligibleCents: 3_025n, eligibility: 'auto_substantiation' },
    },
    { productId: towel, quantity: 1n, subtotalCents: 2_000n, totalCents: 2_000n, eligibility: 'not_eligible' },
    { productId: towel, quantity: 1n, subtotalCents: 500n, totalCents: 500n, eligibility: 'not_eligible', ...part },
  ],
  credits: [
    { productId: monitor, amountCents: 500n, eligible: true, eligibility: 'auto_substantiation', ...part },
    { productId: towel, amountCents: 1_000n, eligible: false, ...part },
  ],
  payments: [
    {
      ...{ leg: 'health', paymentMethodId: cards.health, paymentIntentId: intents.health },
      ...{ amountCents: 2_525n, atMs: time('2026-05-02') },
    },
    {
      ...{ leg: 'other', paymentMethodId: cards.other, paymentIntentId: intents.other },
      ...{ amountCents: 1_500n, atMs: time('2026-05-02') },
    },
  ],
});
const refund = (status: string, refundCents: bigint, paymentIntentId: string) =>
  create(RefundSchema, {
    ...{ refundId: newId('refund'), status, createdAtMs: time('2026-05-20') },
    items: [
      { paymentIntentId, paymentMethodId: cards.health, amountRefundedCents: refundCents },
      { paymentIntentId: newId('payment_intent'), paymentMethodId: cards.other, amountRefundedCents: 77n },
    ],
  });
const facts: InvoiceFacts = {
  ...{ statement, merchantName: 'Care & <b>Co', customerName: 'Ada Lovelace', session: undefined },
  timeZone: 'UTC',
  names: new Map([
    [monitor, 'Monitor <script>'],
    [towel, 'Bath towel'],
  ]),
  cards: new Map(
    [cardOf(cards.health, '0072', true), cardOf(cards.other, '4242', false)].map((card) => [
      card.paymentMethodId,
      card,
    ]),
  ),
  refunds: [
    refund('succeeded', 1_000n, intents.health),
    refund('pending', 25n, intents.health),
    refund('failed', 99n, intents.health),
  ],
  hasMoreRefunds: true,
};

describe('the documents of an invoice', () => {
  test('say what was invoiced, why it is eligible, which card paid what, and what went back [D14.193]', async () => {
    const html = invoiceHtml(invoiceDocument(facts));
    const pdf = textOfPdf(await invoicePdf(invoiceDocument(facts)));
    const said = [
      ...['Ada Lovelace', 'May 1, 2026 to June 1, 2026', 'May 2, 2026', '17', 'Test mode: no money was charged.'],
      ...['Eligible: medical item on the IIAS list', 'Not eligible', 'Price $30.00', 'Discounts -$3.00', 'Tax $2.25'],
      ...['Shipping $1.00', '$30.25', 'April 16, 2026 to May 1, 2026', '-$5.00', '-$10.00', '-$15.00', '$40.25'],
      ...['Unused time: April 16, 2026 to May 1, 2026', '$25.25', '$15.00', 'HSA/FSA card, Visa ending in 0072'],
      ...['Card, Visa ending in 4242', '$10.00', 'pending', '$0.25', 'Older refunds are not listed.'],
    ];
    for (const text of said) {
      expect(html).toContain(text);
      expect(pdf.replaceAll('\n', ' ')).toContain(text);
    }
    for (const text of ['<script>', '<b>Co', '$0.77', '$0.99']) expect(html).not.toContain(text);
    expect(html).toContain('Monitor &#60;script&#62;');
    expect(html).toContain('HSA/FSA-eligible amount</td>');
  });

  test('name the days of the account’s time zone, and the zone, also where a year ends [D14.376]', async () => {
    const { invoice, payments: paid } = statement;
    if (invoice === undefined) throw new Error('The statement has no invoice');
    const newYear = time('2027-01-01T00:30:00Z');
    const document = invoiceDocument({
      ...{ ...facts, timeZone: 'America/New_York' },
      statement: {
        ...statement,
        invoice: { ...invoice, createdAtMs: newYear, periodStartMs: newYear, paidAtMs: newYear },
        payments: paid.map((payment) => ({ ...payment, atMs: newYear })),
      },
    });
    expect(document.facts).toContainEqual(['Date', 'December 31, 2026']);
    expect(document.facts).toContainEqual(['Paid', 'December 31, 2026']);
    expect(document.facts).toContainEqual(['Time zone', 'Eastern Time']);
    expect(document.payments[0]?.[0]).toMatch(/^December 31, 2026: /);
    for (const text of [invoiceHtml(document), textOfPdf(await invoicePdf(document))]) {
      expect(text).toContain('December 31, 2026');
      expect(text).toContain('Eastern Time');
      expect(text).not.toContain('January 1, 2027');
    }
  });

  test('name a customer whose name is not in Western European characters [D14.377]', async () => {
    const document = invoiceDocument({ ...facts, customerName: 'Nguyễn Thị Hồng' });
    expect(invoiceHtml(document)).toContain('Nguyễn Thị Hồng');
    expect(textOfPdf(await invoicePdf(document))).toContain('Billed to: Nguyễn Thị Hồng');
  });

  test('add up: the lines less the credits are the total, and the cards paid what is paid [D14.193]', () => {
    const { items, amounts, payments } = invoiceDocument(facts);
    const amountOf = (name: string) => amounts.find(([one]) => one === name)?.[1];
    expect(items.reduce((sum, { cents }) => sum + cents, 0)).toBe(amountOf('Total'));
    expect(payments.reduce((sum, [, cents]) => sum + cents, 0)).toBe(amountOf('Paid'));
    expect(amountOf('HSA/FSA-eligible amount')).toBe(2_525);
    expect(amountOf('Due')).toBe(0);
  });

  test('call a card that paid for what is eligible an HSA/FSA card only if it is known to be one [D14.306]', () => {
    const ordinary = new Map([[cards.health, cardOf(cards.health, '4242', false)]]);
    for (const known of [ordinary, new Map()]) {
      const [[health] = []] = invoiceDocument({ ...facts, cards: known }).payments;
      expect(health).toMatch(/^May 2, 2026: Card/);
    }
  });

  test('name a moved share of a discount as what it is: its item is used throughout [D14.193, D14.295]', () => {
    const [line, , charged] = statement.lines;
    const [, credited] = statement.credits;
    if (line === undefined || charged === undefined || credited === undefined) throw new Error('nothing to show');
    const shares = create(InvoiceStatementSchema, {
      ...{ invoice: statement.invoice, payments: statement.payments },
      lines: [line, { ...charged, isShare: true }],
      credits: [{ ...credited, isShare: true }],
    });
    const { items } = invoiceDocument({ ...facts, statement: shares });
    const notes = ['Not eligible', 'Change of its share of a discount: April 16, 2026 to May 1, 2026'];
    expect(items.slice(1)).toEqual([
      { name: 'Bath towel', notes, cents: 500 },
      { name: 'Bath towel', notes, cents: -1_000 },
    ]);
  });

  test('are the same bytes twice [D14.193]', async () => {
    expect(invoiceHtml(invoiceDocument(facts))).toBe(invoiceHtml(invoiceDocument(facts)));
    const [one, other] = await Promise.all([1, 2].map(() => invoicePdf(invoiceDocument(facts))));
    expect(one?.equals(other ?? Buffer.alloc(0))).toBe(true);
  });

  test('have the lines and cards of the session that paid the first invoice [D14.193]', () => {
    const proof = create(SubstantiationSchema, {
      session: { amountSubtotalCents: 5_000n, totalDetails: { amountTaxCents: 400n, amountFeeCents: 100n } },
      lines: [
        {
          line: {
            ...{ productId: monitor, quantity: 1n, amountTotalCents: 5_500n, amountEligibleCents: 5_500n },
            eligibility: { hsaFsaEligibility: 'vision' },
          },
        },
      ],
      payments: [
        {
          leg: 'health',
          charge: { paymentIntentId: intents.health, amountCapturedCents: 5_500n, createdAtMs: time('2026-04-01') },
          paymentMethod: { paymentMethodId: cards.health },
        },
      ],
    });
    const of = { ...facts, session: soldByASession(proof, facts.names) };
    const { items, amounts, payments, refunds } = invoiceDocument(of);
    expect(items).toEqual([{ name: '1 × Monitor <script>', notes: ['Eligible: vision care'], cents: 5_500 }]);
    expect(amounts.slice(0, 3)).toEqual([
      ['Items', 5_000],
      ['Tax', 400],
      ['Fees', 100],
    ]);
    expect(payments).toEqual([['April 1, 2026: HSA/FSA card, Visa ending in 0072', 5_500]]);
    expect(refunds).toHaveLength(2);
  });
});
