import { toJson } from '@bufbuild/protobuf';
import { Failure } from '@eligo/failures';
import {
  type CartDiscount as CartDiscountMessage,
  type CartLine as CartLineMessage,
  type Coupon,
  CouponSchema,
  type ResolvedCart as ResolvedCartMessage,
  type ResolvedDiscount as ResolvedDiscountMessage,
  type ResolvedLine as ResolvedLineMessage,
} from '@eligo/proto/catalog/v1/catalog';
import type { Call } from '@eligo/rpc';
import { type Cents, cents, centsFromInt64 } from '@eligo/values';
import type { Context } from '../context.ts';
import type { ResolvedCart, ResolvedDiscount, ResolvedLine } from '../domain/new-session.ts';
import type { ShippingChoice } from '../messages/session-terms.ts';
import { type CartRequest, isPlain } from './plain-carts.ts';

/** A cart as the partner gave it. Amounts are in cents. */
export interface GivenCart {
  readonly lines: readonly CartLineMessage[];
  readonly discounts: readonly CartDiscountMessage[];
  readonly shipping: ShippingChoice;
  readonly taxCents: Cents;
  readonly fees: ResolvedCart['fees'];
}

/** The cart as the catalog prices and classifies it, with the shipping option that the session shows. One call, outside any transaction. */
export async function resolveCart(
  { catalog, plainCarts }: Pick<Context, 'catalog' | 'plainCarts'>,
  call: Call,
  sessionId: string,
  given: GivenCart,
  customerId: string | null,
  at: Date,
  inPlaceOf: readonly string[] = [],
): Promise<{
  cart: ResolvedCart;
  shipping: { shippingRateId?: string; displayName?: string } | undefined;
  /** Whether a coupon or code can be redeemed only once the reservations of `inPlaceOf` are released. */
  needsRelease: boolean;
}> {
  refuseDiscountsWithoutLines(given);
  const rateId =
    given.shipping !== undefined && 'shippingRateId' in given.shipping ? given.shipping.shippingRateId : undefined;
  const asks = given.lines.length > 0 || given.discounts.length > 0 || rateId !== undefined;
  const priced = async (request: CartRequest) =>
    (isPlain(request) ? await plainCarts.submit(call.scope, { call, request }) : undefined) ??
    (await catalog.resolveCart(request, call));
  const request = {
    sessionId,
    lines: [...given.lines],
    discounts: [...given.discounts],
    atMs: BigInt(at.getTime()),
    bodyPath: ['body', 'checkout_session'],
    activatesCoupons: true,
    inPlaceOf: [...inPlaceOf],
    ...(rateId === undefined ? {} : { shippingRateId: rateId }),
    ...(customerId === null ? {} : { customerId }),
  };
  const answer = asks ? await priced(request) : undefined;
  const { shippingCents, shipping } = shippingOf(given, answer);
  const lines = given.lines.map((line, i) => resolvedLine(line, answer?.lines[i], i));
  const discounts = given.discounts.map((_, i) => resolvedDiscount(answer?.discounts[i], i));
  refuseLargeTexts(lines);
  refuseLargeCoupons(discounts);
  const cart = { lines, discounts, shippingCents, taxCents: given.taxCents, fees: given.fees };
  return { cart, shipping, needsRelease: answer?.needsRelease === true };
}

// It would apply to no line, and still use up a redemption (decisions 14.14). The catalog is not asked, so that it makes no inline coupon.
function refuseDiscountsWithoutLines({ lines, discounts }: GivenCart): void {
  if (lines.length > 0 || discounts.length === 0) return;
  throw Failure.violations(
    discounts.map(({ source }, index) => ({
      loc: ['body', 'checkout_session', 'discounts', String(index), ...(source.case ? [fieldOf[source.case]] : [])],
      type: 'coupon_not_applicable',
      msg: 'coupon_not_applicable',
    })),
  );
}

const fieldOf = {
  couponId: 'coupon_id',
  promoCodeId: 'promo_code_id',
  promoCode: 'promo_code',
  couponData: 'coupon_data',
} as const;

function shippingOf({ shipping }: GivenCart, answer: ResolvedCartMessage | undefined) {
  if (shipping === undefined) return { shippingCents: cents(0), shipping: undefined };
  if ('amountCents' in shipping) {
    return { shippingCents: shipping.amountCents, shipping: { displayName: shipping.displayName } };
  }
  const rate = answer?.shippingRate;
  if (rate === undefined) throw new Error('The catalog returned a cart without its shipping rate');
  return {
    shippingCents: centsFromInt64(rate.amountCents),
    shipping: { shippingRateId: rate.shippingRateId, displayName: rate.displayName },
  };
}

function resolvedLine(given: CartLineMessage, resolved: ResolvedLineMessage | undefined, index: number): ResolvedLine {
  if (resolved?.price === undefined || resolved.product === undefined || resolved.eligibility === undefined) {
    throw new Error(`The catalog returned a cart without line ${index}`);
  }
  const { price, product, eligibility } = resolved;
  return {
    priceId: price.priceId,
    productId: product.productId,
    unitAmountCents: centsFromInt64(price.unitAmountCents),
    quantity: quantityOf(given.quantity, index),
    description: price.description ?? product.name ?? null,
    visitType: product.visitType ?? null,
    eligibilityClass: eligibility.hsaFsaEligibility ?? null,
    eligibilityRule: eligibility.rule,
    eligibilityRuleVersion: eligibility.ruleVersion,
    rationale: eligibility.rationale,
    recurring:
      price.recurring === undefined
        ? null
        : {
            interval: price.recurring.interval,
            intervalCount: price.recurring.intervalCount,
            trialDays: price.recurring.trialPeriodDays ?? null,
          },
  };
}

function quantityOf(quantity: bigint, index: number): number {
  const value = Number(quantity);
  if (Number.isSafeInteger(value) && value >= 1) return value;
  throw Failure.invalid(
    ['body', 'checkout_session', 'line_items', String(index), 'quantity'],
    'value_error',
    'Must be a whole number of at least 1',
  );
}

function resolvedDiscount(resolved: ResolvedDiscountMessage | undefined, index: number): ResolvedDiscount {
  const coupon = resolved?.coupon;
  if (coupon === undefined) throw new Error(`The catalog returned a cart without discount ${index}`);
  return {
    couponId: coupon.couponId,
    promoCodeId: resolved?.promoCodeId ?? null,
    coupon: toJson(CouponSchema, coupon),
    off: offOf(coupon),
    products: coupon.appliesTo?.products ?? [],
    prices: coupon.appliesTo?.prices ?? [],
  };
}

/** What a coupon takes off. */
export function offOf(coupon: Coupon): ResolvedDiscount['off'] {
  if (coupon.amountOffCents !== undefined) return { amountCents: centsFromInt64(coupon.amountOffCents) };
  if (coupon.percentOffBasisPoints !== undefined) return { basisPoints: coupon.percentOffBasisPoints };
  throw new Error('A coupon has neither amount_off nor percent_off');
}

/**
 * In UTF-8. As much as a body may hold, so that lines that bring their products always fit. Commands carry a session with its lines in one event of 8 MiB
 * at most: 1 MiB of these (2 MiB in the receipt of a refund, which names a line once for each card), 1 MiB of the session's body, 3 MiB of its coupons,
 * and some 2 KiB a line of identifiers, amounts and rationale.
 */
const maxTextBytes = 1_048_576;

function refuseLargeTexts(lines: readonly ResolvedLine[]): void {
  let bytes = 0;
  for (const { description } of lines) bytes += Buffer.byteLength(description ?? '');
  if (bytes <= maxTextBytes) return;
  throw Failure.invalid(
    ['body', 'checkout_session', 'line_items'],
    'too_long',
    'The descriptions of the prices and products are too large for one session',
  );
}

/** As much as a body may hold: a session and its discounts must fit into one event with what is added to it later. */
const maxCouponsLength = 1_048_576;

/** Whether it is too much to keep: each discount keeps its coupon as it was, so that a short list of one large coupon makes a session that no event could carry. */
export function areCouponsTooLarge(discounts: readonly Pick<ResolvedDiscount, 'coupon'>[]): boolean {
  let length = 0;
  for (const { coupon } of discounts) length += JSON.stringify(coupon).length;
  return length > maxCouponsLength;
}

function refuseLargeCoupons(discounts: readonly ResolvedDiscount[]): void {
  if (!areCouponsTooLarge(discounts)) return;
  throw Failure.invalid(
    ['body', 'checkout_session', 'discounts'],
    'too_long',
    'The coupons and the records they apply to are too large for one session',
  );
}
