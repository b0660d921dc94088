import { Failure } from '@eligo/failures';
import { maxGroupSize } from '@eligo/postgres';
import {
  type CartDiscount as CartDiscountMessage,
  type CartLine as CartLineMessage,
  type CatalogService,
  type PlainCart,
  type ResolvedCart as ResolvedCartMessage,
  ResolvedCartSchema,
  ResolvedDiscountSchema,
  ResolvedLineSchema,
  ResolvedPlainCartSchema,
} from '@eligo/proto/catalog/v1/catalog';
import type { Implementation } from '@eligo/rpc';
import { activateInline } from '../actions/activate-inline.ts';
import { endRedemption } from '../actions/end-redemption.ts';
import { reserveRedemption } from '../actions/reserve-redemption.ts';
import { type ResolvedCart, resolveCart } from '../actions/resolve-cart.ts';
import { resolvePromoCode } from '../actions/resolve-promo-code.ts';
import type { Context } from '../context.ts';
import { type Cart, type CartDiscount, type CartLine, type CartPlaces, cartPlaces } from '../domain/cart.ts';
import type { Loc } from '../domain/field-rules.ts';
import { messageOf, timeOf } from '../messages/message.ts';
import {
  couponMessage,
  eligibilityMessage,
  priceMessage,
  productMessage,
  shippingRateMessage,
} from '../messages/records.ts';
import { couponInputOf, productInputOf, recurringInputOf } from './inputs.ts';

export function cartHandlers(context: Context): Implementation<typeof CatalogService> {
  const timeOrNow = (ms: bigint) => (ms === 0n ? context.clock.now() : timeOf(ms));
  return {
    async resolveCart(request, call) {
      const places = cartPlaces(request.bodyPath);
      const { testMode } = call.scope;
      const cart = await resolveCart(context, call, {
        sessionId: request.sessionId,
        lines: request.lines.map((line, index) => lineOf(line, places.line(index))),
        shippingRateId: request.shippingRateId,
        discounts: request.discounts.map((discount, index) => discountOf(discount, index, places)),
        customerId: request.customerId ?? null,
        at: timeOrNow(request.atMs),
        activatesCoupons: request.activatesCoupons,
        inPlaceOf: request.inPlaceOf,
        heldPriceIds: request.heldPriceIds,
        places,
      });
      return cartMessage(cart, testMode);
    },
    async resolveCarts({ carts }, call) {
      if (carts.length > maxGroupSize) throw new Failure('bad_request');
      const resolved = await Promise.all(
        carts.map((cart) => orUndefined(resolveCart(context, call, plainCart(cart, timeOrNow(cart.atMs))))),
      );
      return {
        carts: resolved.map((cart) =>
          messageOf(
            ResolvedPlainCartSchema,
            cart === undefined ? {} : { cart: cartMessage(cart, call.scope.testMode) },
          ),
        ),
      };
    },
    async resolvePromoCode({ code, customerId, atMs, lines }, call) {
      const typed = { code, customerId: customerId ?? null, at: timeOrNow(atMs), lines };
      const promoCode = await resolvePromoCode(context, call, typed);
      return {
        coupon: couponMessage(promoCode.coupon, call.scope.testMode),
        promoCodeId: promoCode.promoCodeId,
        code: promoCode.code,
      };
    },
    async activateInline({ sessionId }, call) {
      await activateInline(context, call, sessionId);
      return {};
    },
    async reserveRedemption(request, call) {
      const { sessionId, couponIds, promoCodeIds, bodyPath } = request;
      await reserveRedemption(context, call, {
        sessionId,
        couponIds,
        promoCodeIds,
        customerId: request.customerId ?? null,
        at: timeOrNow(request.atMs),
        discountsLoc: bodyPath.length === 0 ? undefined : cartPlaces(bodyPath).discount(0).slice(0, -1),
      });
      return {};
    },
    async releaseRedemption({ sessionId }, call) {
      await endRedemption(context, call, sessionId, 'released');
      return {};
    },
    async finalizeRedemption({ sessionId }, call) {
      await endRedemption(context, call, sessionId, 'final');
      return {};
    },
  };
}

function plainCart({ priceIds, shippingRateId }: PlainCart, at: Date): Cart {
  return {
    // Nothing is made under it.
    sessionId: '',
    lines: priceIds.map((priceId) => ({ kind: 'price', priceId })),
    shippingRateId,
    discounts: [],
    customerId: null,
    at,
    activatesCoupons: false,
    inPlaceOf: [],
    heldPriceIds: [],
    places: cartPlaces([]),
  };
}

/** Undefined if the cart is refused. */
async function orUndefined(resolving: Promise<ResolvedCart>): Promise<ResolvedCart | undefined> {
  try {
    return await resolving;
  } catch (error) {
    if (error instanceof Failure) return undefined;
    throw error;
  }
}

function cartMessage(cart: ResolvedCart, testMode: boolean): ResolvedCartMessage {
  return messageOf(ResolvedCartSchema, {
    lines: cart.lines.map(({ price, product, eligibility }) =>
      messageOf(ResolvedLineSchema, {
        price: priceMessage(price, testMode),
        product: productMessage(product, testMode),
        eligibility: eligibilityMessage(eligibility),
      }),
    ),
    ...(cart.shippingRate === undefined ? {} : { shippingRate: shippingRateMessage(cart.shippingRate, testMode) }),
    discounts: cart.discounts.map(({ coupon, promoCodeId }) =>
      messageOf(ResolvedDiscountSchema, { coupon: couponMessage(coupon, testMode), promoCodeId }),
    ),
    needsRelease: cart.needsRelease,
  });
}

function lineOf({ item }: CartLineMessage, place: Loc): CartLine {
  switch (item.case) {
    case 'priceId':
      return { kind: 'price', priceId: item.value };
    case 'productId':
      return { kind: 'product', productId: item.value };
    case 'priceData': {
      const { owner, unitAmountCents, recurring, hsaFsaEligibility } = item.value;
      if (owner.case === undefined) {
        throw Failure.invalid([...place, 'price_data', 'product'], 'missing', 'Send product or product_data');
      }
      return {
        kind: 'price_data',
        priceData: {
          owner: owner.case === 'productId' ? { productId: owner.value } : { productData: productInputOf(owner.value) },
          unitAmountCents,
          recurring: recurringInputOf(recurring),
          hsaFsaEligibility: hsaFsaEligibility ?? null,
        },
      };
    }
    default:
      throw Failure.invalid([...place, 'price'], 'missing', 'Send price, product or price_data');
  }
}

function discountOf({ source }: CartDiscountMessage, index: number, places: CartPlaces): CartDiscount {
  switch (source.case) {
    case 'couponId':
      return { kind: 'coupon_id', couponId: source.value };
    case 'promoCodeId':
      return { kind: 'promo_code_id', promoCodeId: source.value };
    case 'promoCode':
      return { kind: 'promo_code', code: source.value };
    case 'couponData':
      return { kind: 'coupon_data', coupon: couponInputOf(source.value) };
    default:
      throw Failure.invalid(
        places.discount(index),
        'missing',
        'Send coupon_id, promo_code_id, promo_code or coupon_data',
      );
  }
}
