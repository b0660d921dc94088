import { cents, newId } from '@eligo/values';
import { describe, expect, it } from 'vitest';
import {
  type Cancellation,
  decideCancellation,
  type LeftOfPayment,
  partsOfRefund,
  type Refundable,
} from './cancellation.ts';
import type { Invoice } from './invoice.ts';
import { nothingTakenBack } from './kept-share.ts';
import { newSubscription, type SoldSubscription } from './new-subscription.ts';
import type { Subscription } from './subscription.ts';

const start = new Date('2026-04-01T00:00:00.000Z');
const sold: SoldSubscription = {
  subscriptionId: newId('subscription'),
  invoiceId: newId('invoice'),
  sessionId: newId('checkout_session'),
  customerId: newId('customer'),
  testClockId: null,
  at: start,
  lines: [
    {
      priceId: newId('price'),
      productId: newId('product'),
      quantity: 1,
      unitAmountCents: cents(3_000),
      taxCents: cents(0),
      shippingCents: cents(0),
      totalCents: cents(3_000),
      isEligible: true,
      rule: 'price',
      recurring: { interval: 'month', intervalCount: 1, trialDays: 0 },
    },
  ],
  receivedCents: cents(3_000),
  isPaidWhole: true,
  trialEnd: null,
  trialDays: null,
  cancelAt: null,
  cancelAtPeriodEnd: false,
  missingPaymentMethod: null,
  defaultPaymentMethodId: newId('payment_method'),
  backupPaymentMethodId: null,
  paymentIntentId: newId('payment_intent'),
  chargeId: newId('charge'),
  discounts: [],
  metadata: {},
};
const { subscription, invoice } = newSubscription(sold);
/** The payment of an invoice of which this was taken back. */
const left = ({ amountPaidCents, periodStart, periodEnd }: Invoice, takenBackCents = 0): LeftOfPayment => {
  const leftCents = cents(Math.max(0, amountPaidCents - takenBackCents));
  const times = [{ cents: leftCents, start: periodStart, end: periodEnd }];
  return { periodStart, periodEnd, paidCents: amountPaidCents, leftCents, times, lines: 'all' };
};
const untouched: Refundable = {
  payments: [left(invoice)],
  items: subscription.items,
  kept: nothingTakenBack,
  pending: [],
  lapsing: [],
};
const cancel = (parts: Partial<Cancellation>, at = start, refundable: Partial<Refundable> = {}) =>
  decideCancellation(
    subscription,
    { atPeriodEnd: false, refund: 'none', refundAmountCents: null, ...parts },
    { ...untouched, ...refundable },
    at,
  );
const half = new Date('2026-04-16T00:00:00.000Z');

describe('a subscription from a completed session', () => {
  it('is active with its first invoice paid, over one period from the session', () => {
    expect(subscription).toMatchObject({
      status: 'active',
      currentPeriodStart: start,
      latestInvoiceId: sold.invoiceId,
    });
    expect(subscription.currentPeriodEnd.toISOString()).toBe('2026-05-01T00:00:00.000Z');
    expect(invoice).toMatchObject({ status: 'paid', totalCents: 3_000, amountPaidCents: 3_000, paidAt: start });
  });

  it('is trialing when it begins with a trial, with an invoice of 0 [D14.19]', () => {
    const trial = newSubscription({ ...sold, trialDays: 14 });
    expect(trial.subscription).toMatchObject({ status: 'trialing', trialStart: start });
    expect(trial.subscription.trialEnd?.toISOString()).toBe('2026-04-15T00:00:00.000Z');
    expect(trial.invoice).toMatchObject({ status: 'paid', totalCents: 0, paymentIntentId: null });
  });

  it('leaves lines that are paid once out of its items [D14.19]', () => {
    const [recurring] = sold.lines;
    if (recurring === undefined) throw new Error('a recurring line');
    const once = { ...recurring, priceId: newId('price'), recurring: null };
    expect(newSubscription({ ...sold, lines: [recurring, once] }).subscription.items).toHaveLength(1);
  });
});

describe('canceling a subscription', () => {
  it('ends it now, with no refund unless one is asked for [SUB-2]', () => {
    expect(cancel({})).toMatchObject({ subscription: { status: 'canceled', canceledAt: start }, refundCents: 0 });
  });

  it('leaves it as it is until the end of its period when asked to [SUB-3]', () => {
    expect(cancel({ atPeriodEnd: true }).subscription).toMatchObject({
      status: 'active',
      cancelAtPeriodEnd: true,
      canceledAt: null,
    });
  });

  it('refunds all that is left of what was paid for the period [SUB-6, D14.330]', () => {
    expect(cancel({ refund: 'full' }).refundCents).toBe(3_000);
    const payments = [left({ ...invoice, amountPaidCents: cents(500) }), left(invoice, 1_000)];
    expect(cancel({ refund: 'full' }, start, { payments }).refundCents).toBe(2_500);
  });

  it.each([
    ['2026-04-01T00:00:00.000Z', 3_000],
    ['2026-04-16T00:00:00.000Z', 1_500],
    ['2026-04-21T12:00:00.000Z', 950],
    ['2026-05-01T00:00:00.000Z', 0],
    ['2026-06-01T00:00:00.000Z', 0],
  ])('refunds what is unused at %s, rounded down [SUB-6, D14.3]', (at, amount) => {
    expect(cancel({ refund: 'prorated' }, new Date(at)).refundCents).toBe(amount);
  });

  it('refunds the unused time of what the shop has kept, and at most what is left of the payment [D14.3]', () => {
    const refunded = (cancelled: Subscription, paid: Invoice, takenBack: number) => {
      const takenBackCents = cents(takenBack);
      const refundable = {
        ...untouched,
        payments: [left(paid, takenBack)],
        items: cancelled.items,
        kept: { paidCents: paid.amountPaidCents, takenBackCents },
      };
      const asked = { atPeriodEnd: false, refund: 'prorated', refundAmountCents: null } as const;
      return decideCancellation(cancelled, asked, refundable, half).refundCents;
    };
    expect(refunded(subscription, invoice, 2_000)).toBe(500);
    expect(refunded(subscription, invoice, 3_000)).toBe(0);
    // A device of 100.00 was paid with the same session; a credit paid 25.00 of the period.
    expect(refunded(subscription, { ...invoice, amountPaidCents: cents(13_000) }, 0)).toBe(1_500);
    expect(refunded(subscription, { ...invoice, amountPaidCents: cents(500) }, 0)).toBe(500);
    // Of a session that was paid in part: no more than half of what it was paid, and than half of what the items cost.
    const items = subscription.items.map((item) => ({ ...item, invoicedCents: null, invoicedEligible: null }));
    expect(refunded({ ...subscription, items }, { ...invoice, amountPaidCents: cents(2_000) }, 0)).toBe(1_000);
    expect(refunded({ ...subscription, items }, { ...invoice, amountPaidCents: cents(9_000) }, 0)).toBe(1_500);
  });

  it.each([null, 0, -1])('refuses a custom refund of %s at refund_amount [SUB-6]', (amount) => {
    const custom = { refund: 'custom' as const, refundAmountCents: amount === null ? null : cents(amount) };
    expect(() => cancel(custom)).toThrow(
      expect.objectContaining({
        violations: [expect.objectContaining({ loc: ['body', 'subscription', 'refund_amount'] })],
      }),
    );
  });

  it.each([
    [3_001, 0, 'Send at most 3000. That is what remains of the amount paid for the present period.'],
    [1_001, 2_000, 'Send at most 1000. That is what remains of the amount paid for the present period.'],
    [1, 3_100, 'Nothing remains of the amount paid for the present period. Leave refund out, or send none.'],
  ])(
    'refuses a custom refund of %i of 30.00 of which %i are taken back, and says what can be sent [SUB-6, D14.330]',
    (amount, takenBack, msg) => {
      const custom = { refund: 'custom', refundAmountCents: cents(amount) } as const;
      expect(() => cancel(custom, start, { payments: [left(invoice, takenBack)] })).toThrow(
        expect.objectContaining({
          violations: [expect.objectContaining({ type: 'refund_amount_exceeds_remaining', msg })],
        }),
      );
    },
  );

  it('refunds a custom amount of all that is left of the payment', () => {
    const custom = { refund: 'custom', refundAmountCents: cents(1_000) } as const;
    expect(cancel(custom, start, { payments: [left(invoice, 2_000)] }).refundCents).toBe(1_000);
  });

  it('refuses a refund together with an end that is still to come [D14.2]', () => {
    expect(() => cancel({ atPeriodEnd: true, refund: 'full' })).toThrow(
      expect.objectContaining({ violations: [expect.objectContaining({ loc: ['body', 'subscription', 'refund'] })] }),
    );
  });

  it.each<[string, number, [left: number, paid: number, from: string][], number[]]>([
    // A year on the health card, and a month later an item on the other card for the rest of it.
    [
      'its unused time',
      900_00,
      [
        [550_00, 550_00, '2026-02-01'],
        [1_200_00, 1_200_00, '2026-01-01'],
      ],
      [300_35, 599_65],
    ],
    [
      'its unused time without what was sold once',
      50,
      [
        [50, 50, '2026-01-01'],
        [10_000, 50, '2026-01-01'],
      ],
      [25, 25],
    ],
    [
      'no more than is left of it, where credits paid the rest of its time',
      15_00,
      [
        [5_00, 20_00, '2026-01-01'],
        [30_00, 20_00, '2026-01-01'],
      ],
      [5_00, 10_00],
    ],
    [
      'its part of what is more, and no more than is left of it',
      150_00,
      [
        [20_00, 20_00, '2026-01-01'],
        [200_00, 200_00, '2026-01-01'],
      ],
      [13_64, 136_36],
    ],
    [
      'nothing where nothing is left',
      50,
      [
        [0, 0, '2026-01-01'],
        [200, 200, '2026-01-01'],
      ],
      [0, 50],
    ],
    ['nothing of nothing', 0, [[0, 0, '2026-01-01']], [0]],
  ])('gives each payment %s, to the cent [D14.3, D14.330]', (_what, amount, lefts, expected) => {
    const payments = lefts.map(([left, ofTime, from]) => {
      const [start, end] = [new Date(from), new Date('2027-01-01')];
      const times = [{ cents: cents(ofTime), start, end }];
      const amounts = { paidCents: cents(left), leftCents: cents(left) };
      return { ...amounts, times, periodStart: start, periodEnd: end, lines: 'all' as const };
    });
    const asked = { refundCents: cents(amount), refund: 'prorated' } as const;
    const at = new Date('2026-07-02T12:00:00.000Z');
    const parts = partsOfRefund(subscription, asked, { payments, pending: [], lapsing: [] }, at);
    expect(parts).toEqual(expected);
    expect(parts.reduce((sum, part) => sum + part, 0)).toBe(amount);
    for (const [index, part] of parts.entries()) expect(part).toBeLessThanOrEqual(lefts[index]?.[0] ?? 0);
  });

  it('gives each payment its part of a custom amount in proportion to what is left of it [D14.3, D14.330]', () => {
    const of = (amount: number, ...lefts: number[]) =>
      partsOfRefund(
        subscription,
        { refundCents: cents(amount), refund: 'custom' },
        {
          ...{ payments: lefts.map((leftCents) => ({ ...left(invoice), leftCents: cents(leftCents) })), pending: [] },
          lapsing: [{ eligible: true, wholeCents: cents(1_000) }],
        },
        half,
      );
    expect(of(500, 550, 1_200)).toEqual([157, 343]);
    expect(of(1_250, 50, 1_200)).toEqual([50, 1_200]);
    expect(of(50, 0, 50, 1_200)).toEqual([0, 2, 48]);
    expect(of(0)).toEqual([]);
  });

  it('refuses one that has ended', () => {
    const ended = { ...subscription, status: 'canceled' as const };
    const now: Cancellation = { atPeriodEnd: false, refund: 'none', refundAmountCents: null };
    expect(() => decideCancellation(ended, now, untouched, start)).toThrow(
      expect.objectContaining({ code: 'subscription_not_cancelable' }),
    );
  });
});
