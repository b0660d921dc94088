import { cents, newId } from '@eligo/values';
import type { StoredDiscount } from '../src/domain/discounts.ts';
import type { Eligibility } from '../src/domain/finalized-invoice.ts';
import { changeItems, type PricedItem } from '../src/domain/item-change.ts';
import { matchItems } from '../src/domain/item-match.ts';
import type { KeptShare } from '../src/domain/kept-share.ts';
import { openSubscription, type SoldPrice } from '../src/domain/opened-subscription.ts';
import type { Proration } from '../src/domain/proration.ts';
import type { Subscription } from '../src/domain/subscription.ts';

// A period of thirty days, so that half of it is a whole number of days.
export const start = new Date('2026-04-01T00:00:00.000Z');
export const end = new Date('2026-05-01T00:00:00.000Z');
export const half = new Date('2026-04-16T00:00:00.000Z');
export const at = (part: number) => new Date(start.getTime() + part * (end.getTime() - start.getTime()));

export const eligible: Eligibility = {
  ...{ eligibility: 'auto_substantiation', rule: 'product', ruleVersion: '1', rationale: '', letterId: null },
};
export const other: Eligibility = { ...eligible, eligibility: 'not_eligible' };

export function price(
  unitAmountCents: number,
  eligibility = eligible,
  interval: 'month' | 'year' = 'month',
): SoldPrice {
  const recurring = { interval, intervalCount: 1, trialDays: 0 };
  const unit = cents(unitAmountCents);
  return { priceId: newId('price'), productId: newId('product'), unitAmountCents: unit, eligibility, recurring };
}

/** A subscription of these prices with a trial, if it has days. */
export function opened(
  prices: readonly [SoldPrice, number][],
  discounts: readonly StoredDiscount[],
  trialDays: number | null,
): Subscription {
  return openSubscription(newId('subscription'), {
    ...{ customerId: newId('customer'), testClockId: null, at: start, trialEnd: null, trialDays },
    ...{ missingPaymentMethod: null, cancelAt: null, cancelAtPeriodEnd: false, backupPaymentMethodId: null },
    ...{ prorationBehavior: null, discounts, metadata: {}, defaultPaymentMethodId: newId('payment_method') },
    items: prices.map(([one, quantity]) => ({ price: one, quantity })),
  }).subscription;
}

/** A subscription of these prices, whose first period is paid. */
export function sold(prices: readonly [SoldPrice, number][], discounts: readonly StoredDiscount[] = []): Subscription {
  const subscription = opened(prices, discounts, null);
  return { ...subscription, status: 'active', paymentAt: null, expiresAt: null };
}

export type Behavior = 'always_invoice' | 'create_prorations' | 'none';

/** The subscription with these items, where each price is known by what it was sold as. */
export function change(
  before: Subscription,
  to: readonly [SoldPrice, number][],
  time: Date,
  behavior: Behavior,
  kept: KeptShare = { paidCents: cents(0), takenBackCents: cents(0) },
  pending: readonly Proration[] = [],
) {
  const match = matchItems(
    before.items,
    to.map(([one, quantity]) => ({ priceId: one.priceId, quantity })),
  );
  if (match === undefined) throw new Error('nothing changes');
  const items = match.items.map(({ item, quantity, isNewPrice }, index): PricedItem => {
    const asked = to[index]?.[0];
    if (asked === undefined) throw new Error('no price');
    return { item, quantity, price: isNewPrice ? asked : null, eligibility: asked.eligibility };
  });
  const priced = {
    items,
    removed: match.removed,
    before: before.items.map((item) => (item.invoicedEligible === false ? other : eligible)),
    kept,
  };
  return changeItems({ ...before, prorationBehavior: behavior }, priced, pending, time);
}

export const amounts = (prorations: readonly Proration[]) =>
  prorations.map(({ kind, amountCents }) => (kind === 'credit' ? -amountCents : amountCents));
