import { type Cents, cents, type Discounting, periodStart } from '@eligo/values';

/** The JSON form of the checkout's discount message, as a subscription keeps it: int64 are strings. */
export interface StoredDiscount {
  readonly discountId?: string;
  readonly couponId?: string;
  readonly promoCodeId?: string;
  readonly amountCents?: string;
  readonly coupon?: {
    readonly duration?: string;
    readonly durationInMonths?: number;
    readonly amountOffCents?: string;
    readonly percentOffBasisPoints?: number;
    readonly appliesTo?: { readonly products?: readonly string[]; readonly prices?: readonly string[] };
  };
  readonly startMs?: string;
  readonly endMs?: string;
}

/**
 * Discounts that are given now. None has an end yet: the first invoice that it takes something off uses up `once` and begins the months of `repeating`, and `forever` does
 * not end (decisions 14.92).
 */
export function begunDiscounts(discounts: readonly StoredDiscount[], at: Date): StoredDiscount[] {
  return discounts.map((discount) => ({ ...discount, startMs: String(at.getTime()) }));
}

/** Those that take something off an invoice whose period begins at this time. */
export function discountsAt(discounts: readonly StoredDiscount[], at: Date): StoredDiscount[] {
  return discounts.filter((discount) => {
    // Sold before subscriptions renewed: only what lasts forever is known to last.
    if (discount.startMs === undefined && durationOf(discount) !== 'forever') return false;
    return discount.endMs === undefined || Number(discount.endMs) > at.getTime();
  });
}

/** The same discounts once some have been used for an invoice whose period begins at this time: one that holds once ends, and the months of one that repeats begin. */
export function usedDiscounts(
  discounts: readonly StoredDiscount[],
  isUsed: (discount: StoredDiscount) => boolean,
  at: Date,
): StoredDiscount[] {
  return discounts.map((discount) => {
    const end = discount.endMs === undefined && isUsed(discount) ? endOf(discount, at) : undefined;
    return end === undefined ? discount : { ...discount, endMs: String(end.getTime()) };
  });
}

function endOf(discount: StoredDiscount, usedAt: Date): Date | undefined {
  const duration = durationOf(discount);
  if (duration === 'forever') return undefined;
  if (duration === 'once') return usedAt;
  return periodStart(usedAt, { interval: 'month', intervalCount: discount.coupon?.durationInMonths ?? 0 }, 1);
}

/** Those that take something off more than one invoice: one that holds once is for a whole period. */
export function lastingDiscounts(discounts: readonly StoredDiscount[]): StoredDiscount[] {
  return discounts.filter((discount) => !isOnce(discount));
}

/** Those that take something off what changes within a period: they last, and the months of one that repeats have begun. */
export function presentDiscounts(discounts: readonly StoredDiscount[]): StoredDiscount[] {
  return lastingDiscounts(discounts).filter((one) => durationOf(one) !== 'repeating' || one.endMs !== undefined);
}

/** Those that take something off each invoice to come. */
export function endlessDiscounts(discounts: readonly StoredDiscount[]): StoredDiscount[] {
  return discounts.filter((discount) => durationOf(discount) === 'forever' && discount.endMs === undefined);
}

/** Whether a subscription has this coupon or promo code already, and no other discount. */
export function isPresentDiscount(
  discounts: readonly StoredDiscount[],
  given: Pick<StoredDiscount, 'couponId' | 'promoCodeId'>,
): boolean {
  const [present, ...others] = discounts;
  if (present === undefined || others.length > 0) return false;
  const { couponId, promoCodeId } = given;
  return promoCodeId === undefined ? couponId === present.couponId : promoCodeId === present.promoCodeId;
}

/** What it takes off, and of which lines. */
export function discountingOf({ coupon }: StoredDiscount): Discounting {
  const off: Discounting['off'] =
    coupon?.percentOffBasisPoints === undefined
      ? { amountCents: centsOf(coupon?.amountOffCents) }
      : { basisPoints: coupon.percentOffBasisPoints };
  return { off, products: coupon?.appliesTo?.products ?? [], prices: coupon?.appliesTo?.prices ?? [] };
}

/** Whether it takes something off one invoice alone. */
export function isOnce(discount: StoredDiscount): boolean {
  return durationOf(discount) === 'once';
}

/** Whether it takes a fixed amount off all that it applies to. */
export function takesFixedAmount({ coupon }: StoredDiscount): boolean {
  return coupon?.percentOffBasisPoints === undefined;
}

function durationOf({ coupon }: StoredDiscount): 'once' | 'repeating' | 'forever' {
  const duration = coupon?.duration;
  return duration === 'repeating' || duration === 'forever' ? duration : 'once';
}

function centsOf(text: string | undefined): Cents {
  return cents(Number(text ?? 0));
}
