import { cents, newId, periodEnd, sumCents, takeDiscounts } from '@eligo/values';
import { discountingOf, discountsAt, type StoredDiscount, usedDiscounts } from './discounts.ts';
import { bucketOf } from './eligible-classes.ts';
import type { Invoice, InvoiceLine } from './invoice.ts';
import { minimumChargeCents } from './payment-shares.ts';
import type { Subscription } from './subscription.ts';

/** What the catalog says of an item's eligibility as of the renewal. */
export interface Eligibility {
  readonly eligibility: string | null;
  readonly rule: string;
  readonly ruleVersion: string;
  readonly rationale: string;
}

/** A subscription in its next period, and what that costs. */
export interface Renewal {
  readonly subscription: Subscription;
  readonly invoice: Invoice;
  readonly lines: readonly InvoiceLine[];
}

/**
 * The next period of a subscription and its invoice, finalized: open, or paid when it costs nothing, or uncollectible when it costs less than any card can
 * be charged. `eligibility` is that of the items, in their order. `at` is when this happens on the subscription's clock; the period begins where the
 * last one ended, however late that is.
 */
export function renew(subscription: Subscription, eligibility: readonly Eligibility[], at: Date): Renewal {
  const start = subscription.currentPeriodEnd;
  const end = periodEnd(subscription.anchor, subscription, start);
  const discounts = subscription.discounts as readonly StoredDiscount[];
  const lines = linesOf(subscription, discountsAt(discounts, start), eligibility);
  const totalCents = sumCents(lines.map((line) => line.totalCents));
  const status = totalCents === 0 ? 'paid' : totalCents < minimumChargeCents ? 'uncollectible' : 'open';
  const invoice: Invoice = {
    id: newId('invoice'),
    subscriptionId: subscription.id,
    customerId: subscription.customerId,
    checkoutSessionId: null,
    status,
    totalCents,
    eligibleCents: sumCents(lines.map((line) => line.eligibleCents)),
    amountPaidCents: cents(0),
    paymentIntentId: null,
    chargeId: null,
    backupChargeStatus: null,
    periodStart: start,
    periodEnd: end,
    finalizedAt: at,
    paidAt: status === 'paid' ? at : null,
    attempts: 0,
    firstFailedAt: null,
    failureCode: null,
    declineCode: null,
    refusedPaymentMethodId: null,
    metadata: {},
    createdAt: at,
    version: 1n,
  };
  const renewed: Subscription = {
    ...subscription,
    status: 'active',
    currentPeriodStart: start,
    currentPeriodEnd: end,
    latestInvoiceId: invoice.id,
    noticeAt: null,
    discounts: usedDiscounts(discounts, start),
    paymentAt: status === 'open' ? at : null,
  };
  return { subscription: renewed, invoice, lines };
}

function linesOf(
  { items }: Subscription,
  discounts: readonly StoredDiscount[],
  eligibility: readonly Eligibility[],
): InvoiceLine[] {
  const subtotals = items.map((item) => cents(item.unitAmountCents * item.quantity));
  const { nets } = takeDiscounts(
    items.map(({ priceId, productId }) => ({ priceId, productId: productId ?? '' })),
    subtotals,
    discounts.map(discountingOf),
  );
  return items.map((item, index) => {
    const [subtotalCents, netCents, decision] = [subtotals[index], nets[index], eligibility[index]];
    if (subtotalCents === undefined || netCents === undefined || decision === undefined) {
      throw new Error('An item of a renewal has no amount or no eligibility decision');
    }
    const totalCents = cents(netCents + item.taxCents + item.shippingCents);
    return {
      subscriptionItemId: item.id,
      priceId: item.priceId,
      productId: item.productId,
      quantity: item.quantity,
      unitAmountCents: item.unitAmountCents,
      subtotalCents,
      discountCents: cents(subtotalCents - netCents),
      taxCents: item.taxCents,
      shippingCents: item.shippingCents,
      totalCents,
      eligibleCents: bucketOf(decision.eligibility) === undefined ? cents(0) : totalCents,
      ...decision,
    };
  });
}
