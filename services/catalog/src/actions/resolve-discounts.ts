import { Failure, type FailureCode, type Violation } from '@eligo/failures';
import type { Db, Scope } from '@eligo/postgres';
import type { Cart, CartDiscount } from '../domain/cart.ts';
import { appliesToSome, type Coupon, isCouponValid } from '../domain/coupon.ts';
import type { Price } from '../domain/price.ts';
import { isRedeemable, type PromoCode, promoCodeKey } from '../domain/promo-code.ts';
import { badReference } from '../domain/reference.ts';
import { findCoupons } from '../store/coupons.ts';
import { findPromoCodes } from '../store/promo-codes.ts';
import { findReserved } from '../store/redemptions.ts';

/** A discount with the coupon that it stands for. */
export interface ResolvedDiscount {
  readonly coupon: Coupon;
  readonly promoCodeId: string | undefined;
  /** Whether it is possible only once the reservations that the cart takes the place of are released. */
  readonly needsRelease: boolean;
}

/** What a cart's discounts refer to. */
export interface DiscountRecords {
  readonly coupons: ReadonlyMap<string, Coupon>;
  readonly promoCodes: ReadonlyMap<string, PromoCode>;
  readonly byCodeKey: ReadonlyMap<string, PromoCode>;
  /** The coupons that the cart's own coupon_data made, by index. */
  readonly inlineIds: ReadonlyMap<number, string>;
  /** How often each coupon and code is redeemed by the reservations that the cart takes the place of. */
  readonly held: ReadonlyMap<string, number>;
}

/** Reads what the discounts refer to; nothing when there are none. */
export async function findDiscounts(
  db: Db,
  scope: Scope,
  { discounts, inPlaceOf }: Cart,
  inlineIds: ReadonlyMap<number, string>,
): Promise<DiscountRecords> {
  const couponIds = discounts.flatMap((discount) => (discount.kind === 'coupon_id' ? [discount.couponId] : []));
  const promoCodeIds = discounts.flatMap((discount) =>
    discount.kind === 'promo_code_id' ? [discount.promoCodeId] : [],
  );
  const keys = discounts.flatMap((discount) => (discount.kind === 'promo_code' ? [promoCodeKey(discount.code)] : []));
  const allCouponIds = [...new Set([...couponIds, ...inlineIds.values()])];
  const isLimited = couponIds.length + promoCodeIds.length + keys.length > 0;
  const [coupons, promoCodes, reserved] = await Promise.all([
    allCouponIds.length === 0 ? [] : findCoupons(db, scope, allCouponIds),
    promoCodeIds.length + keys.length === 0
      ? []
      : findPromoCodes(db, scope, [...new Set(promoCodeIds)], [...new Set(keys)]),
    isLimited && inPlaceOf.length > 0 ? findReserved(db, scope, inPlaceOf) : [],
  ]);
  const held = new Map<string, number>();
  for (const { couponIds: ofCoupons, promoCodeIds: ofCodes } of reserved) {
    for (const id of [...ofCoupons, ...ofCodes]) held.set(id, (held.get(id) ?? 0) + 1);
  }
  return {
    coupons: new Map(coupons.map((coupon) => [coupon.couponId, coupon])),
    promoCodes: new Map(promoCodes.map((promoCode) => [promoCode.promoCodeId, promoCode])),
    byCodeKey: new Map(promoCodes.filter(({ active }) => active).map((promoCode) => [promoCode.codeKey, promoCode])),
    inlineIds,
    held,
  };
}

/**
 * The discounts with their coupons; unusable ones go to `violations`. Limits are only checked here: they are counted when the
 * session reserves its redemption.
 */
export function resolveDiscounts(
  cart: Cart,
  records: DiscountRecords,
  sold: readonly Price[],
  violations: Violation[],
): ResolvedDiscount[] {
  const resolved: ResolvedDiscount[] = [];
  for (const [index, discount] of cart.discounts.entries()) {
    const outcome = resolveDiscount(cart, discount, index, records);
    const place = [...cart.places.discount(index), discount.kind];
    if (outcome instanceof Failure) violations.push(...(outcome.violations ?? []));
    else if (!appliesToSome(outcome.coupon, sold)) {
      violations.push({ loc: place, type: 'coupon_not_applicable', msg: 'coupon_not_applicable' });
    } else resolved.push(outcome);
  }
  return resolved;
}

function resolveDiscount(
  cart: Cart,
  discount: CartDiscount,
  index: number,
  records: DiscountRecords,
): ResolvedDiscount | Failure {
  const loc = [...cart.places.discount(index), discount.kind];
  const refused = (code: FailureCode, id = '') => badReference(loc, code, id);
  switch (discount.kind) {
    case 'coupon_id': {
      const coupon = records.coupons.get(discount.couponId);
      // An inline coupon is its own session's alone.
      if (coupon === undefined || coupon.inline) return refused('coupon_not_found', discount.couponId);
      if (isCouponValid(coupon)) return { coupon, promoCodeId: undefined, needsRelease: false };
      const freed = afterRelease(coupon, records);
      return isCouponValid(freed)
        ? { coupon: freed, promoCodeId: undefined, needsRelease: true }
        : refused('coupon_not_applicable', discount.couponId);
    }
    case 'coupon_data': {
      const coupon = records.coupons.get(records.inlineIds.get(index) ?? '');
      if (coupon === undefined) throw new Error(`Discount ${index} of session ${cart.sessionId} has no inline coupon`);
      return { coupon, promoCodeId: undefined, needsRelease: false };
    }
    case 'promo_code_id': {
      const promoCode = records.promoCodes.get(discount.promoCodeId);
      if (promoCode === undefined) return refused('promo_code_not_found', discount.promoCodeId);
      return redeemed(promoCode, cart, records) ?? refused('promo_code_invalid', discount.promoCodeId);
    }
    case 'promo_code': {
      const promoCode = records.byCodeKey.get(promoCodeKey(discount.code));
      return (promoCode && redeemed(promoCode, cart, records)) ?? refused('promo_code_invalid');
    }
  }
}

function redeemed(
  promoCode: PromoCode,
  { customerId, at }: Cart,
  records: DiscountRecords,
): ResolvedDiscount | undefined {
  const { promoCodeId } = promoCode;
  if (isRedeemable(promoCode, customerId, at)) return { coupon: promoCode.coupon, promoCodeId, needsRelease: false };
  const timesRedeemed = promoCode.timesRedeemed - (records.held.get(promoCodeId) ?? 0);
  const freed = { ...promoCode, timesRedeemed, coupon: afterRelease(promoCode.coupon, records) };
  return isRedeemable(freed, customerId, at) ? { coupon: freed.coupon, promoCodeId, needsRelease: true } : undefined;
}

function afterRelease(coupon: Coupon, { held }: DiscountRecords): Coupon {
  return { ...coupon, timesRedeemed: coupon.timesRedeemed - (held.get(coupon.couponId) ?? 0) };
}
