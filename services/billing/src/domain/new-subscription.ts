import { type Cents, cents, firstPeriod, type Interval, newId } from '@eligo/values';
import { begunDiscounts, type StoredDiscount, usedDiscounts } from './discounts.ts';
import { type Invoice, notCollected } from './invoice.ts';
import type { Subscription, SubscriptionItem } from './subscription.ts';
import { trialNoticeAt } from './trial-notice.ts';

/** A line of the session that sold the subscription. Lines without a rhythm are paid once, with the first invoice. */
export interface SoldLine {
  readonly priceId: string;
  readonly productId: string;
  readonly quantity: number;
  readonly unitAmountCents: Cents;
  readonly taxCents: Cents;
  readonly shippingCents: Cents;
  /** What it was paid at, without fees, and whether a health card may have paid it. */
  readonly totalCents: Cents;
  readonly isEligible: boolean;
  /** What decided its eligibility. */
  readonly rule: string | null;
  readonly recurring: {
    readonly interval: Interval;
    readonly intervalCount: number;
    readonly trialDays: number;
  } | null;
}

/** What a completed session says about the subscription that it sold. */
export interface SoldSubscription {
  readonly subscriptionId: string;
  readonly invoiceId: string;
  readonly sessionId: string;
  readonly customerId: string;
  readonly testClockId: string | null;
  readonly at: Date;
  readonly lines: readonly SoldLine[];
  readonly receivedCents: Cents;
  /** Whether everything that the cart cost was received. */
  readonly isPaidWhole: boolean;
  readonly trialEnd: Date | null;
  readonly trialDays: number | null;
  readonly cancelAt: Date | null;
  readonly cancelAtPeriodEnd: boolean;
  readonly missingPaymentMethod: string | null;
  readonly defaultPaymentMethodId: string | null;
  readonly backupPaymentMethodId: string | null;
  readonly paymentIntentId: string | null;
  readonly chargeId: string | null;
  readonly discounts: readonly unknown[];
  readonly metadata: Readonly<Record<string, string>>;
}

/**
 * The subscription and its first invoice, under the ids that the session carries. With a trial nothing was charged: the first period is the
 * trial, and its invoice is 0 and paid. The rhythm is that of the first recurring line. Throws when no line recurs, which checkout refuses.
 */
export function newSubscription(sold: SoldSubscription): { subscription: Subscription; invoice: Invoice } {
  const recurring = sold.lines.filter((line) => line.recurring !== null);
  const rhythm = recurring[0]?.recurring;
  if (rhythm == null) throw new Error(`Session ${sold.sessionId} sold a subscription without a recurring line`);
  const trialDays = sold.trialDays ?? Math.max(0, ...recurring.map((line) => line.recurring?.trialDays ?? 0));
  const { trialEnd, end: periodEnd } = firstPeriod({ at: sold.at, rhythm, trialEnd: sold.trialEnd, trialDays });
  const subscription: Subscription = {
    id: sold.subscriptionId,
    customerId: sold.customerId,
    checkoutSessionId: sold.sessionId,
    testClockId: sold.testClockId,
    status: trialEnd === null ? 'active' : 'trialing',
    anchor: trialEnd ?? sold.at,
    interval: rhythm.interval,
    intervalCount: rhythm.intervalCount,
    currentPeriodStart: sold.at,
    currentPeriodEnd: periodEnd,
    trialStart: trialEnd === null ? null : sold.at,
    trialEnd,
    trialCutShort: false,
    cancelAtPeriodEnd: sold.cancelAtPeriodEnd,
    cancelAt: sold.cancelAt,
    canceledAt: null,
    latestInvoiceId: sold.invoiceId,
    defaultPaymentMethodId: sold.defaultPaymentMethodId,
    backupPaymentMethodId: sold.backupPaymentMethodId,
    prorationBehavior: null,
    missingPaymentMethod: sold.missingPaymentMethod,
    discounts: soldDiscounts(sold.discounts as readonly StoredDiscount[], sold.at, trialEnd === null),
    metadata: sold.metadata,
    paymentAt: null,
    noticeAt: trialNoticeAt(sold.at, trialEnd),
    remindAt: null,
    setUpRecordedAt: null,
    expiresAt: null,
    heldUntil: null,
    items: recurring.map(itemOf(sold.at, trialEnd === null ? sold : undefined)),
    createdAt: sold.at,
    version: 1n,
  };
  const paid = trialEnd === null ? sold.receivedCents : cents(0);
  const invoice: Invoice = {
    id: sold.invoiceId,
    subscriptionId: sold.subscriptionId,
    customerId: sold.customerId,
    checkoutSessionId: sold.sessionId,
    billingReason: 'subscription_create',
    status: 'paid',
    totalCents: paid,
    eligibleCents: cents(0),
    amountPaidCents: paid,
    paymentIntentId: trialEnd === null ? sold.paymentIntentId : null,
    chargeId: trialEnd === null ? sold.chargeId : null,
    backupChargeStatus: null,
    periodStart: sold.at,
    periodEnd,
    finalizedAt: sold.at,
    paidAt: sold.at,
    ...notCollected,
    metadata: {},
    createdAt: sold.at,
    version: 1n,
  };
  return { subscription, invoice };
}

// What takes something off the session is used by it. A trial charges nothing.
function soldDiscounts(discounts: readonly StoredDiscount[], at: Date, isCharged: boolean): StoredDiscount[] {
  const begun = begunDiscounts(discounts, at);
  return isCharged ? usedDiscounts(begun, ({ amountCents }) => Number(amountCents ?? 0) > 0, at) : begun;
}

// Nothing is invoiced of a trial. What was captured of a cart in part is not known of a line.
function itemOf(at: Date, paid: SoldSubscription | undefined): (line: SoldLine) => SubscriptionItem {
  const isKnown = paid === undefined || paid.isPaidWhole;
  return (line) => ({
    id: newId('subscription_item'),
    priceId: line.priceId,
    productId: line.productId,
    quantity: line.quantity,
    unitAmountCents: line.unitAmountCents,
    taxCents: line.taxCents,
    agreedTaxCents: null,
    agreedSubtotalCents: null,
    shippingCents: line.shippingCents,
    soldByRule: line.rule,
    invoicedCents: isKnown ? (paid === undefined ? cents(0) : line.totalCents) : null,
    invoicedEligible: isKnown ? paid !== undefined && line.isEligible : null,
    createdAt: at,
    updatedAt: at,
  });
}
