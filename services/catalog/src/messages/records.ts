import {
  type Component as ComponentMessage,
  ComponentSchema,
  type Coupon as CouponMessage,
  CouponSchema,
  type EligibilityDecision as EligibilityDecisionMessage,
  EligibilityDecisionSchema,
  NutritionSchema,
  type Price as PriceMessage,
  PriceSchema,
  type Product as ProductMessage,
  ProductSchema,
  type PromoCode as PromoCodeMessage,
  PromoCodeSchema,
  RecurringSchema,
  type ShippingRate as ShippingRateMessage,
  ShippingRateSchema,
} from '@eligo/proto/catalog/v1/catalog';
import type { Component } from '../domain/component.ts';
import { type Coupon, isCouponValid } from '../domain/coupon.ts';
import type { EligibilityDecision } from '../domain/eligibility.ts';
import { effectiveEligibility, type Price } from '../domain/price.ts';
import { eligibilityRationaleOf, type Product } from '../domain/product.ts';
import type { PromoCode } from '../domain/promo-code.ts';
import type { ShippingRate } from '../domain/shipping-rate.ts';
import { messageOf, msOf } from './message.ts';

export function shippingRateMessage(rate: ShippingRate, testMode: boolean): ShippingRateMessage {
  return messageOf(ShippingRateSchema, { ...rate, createdAtMs: msOf(rate.createdAt), testMode });
}

export function productMessage(product: Product, testMode: boolean): ProductMessage {
  return messageOf(ProductSchema, {
    productId: product.productId,
    name: product.name,
    description: product.description,
    upcCode: product.upcCode,
    gtin: product.gtin,
    referenceGtin: product.referenceGtin,
    url: product.url,
    clientReferenceId: product.clientReferenceId,
    imageUrls: [...product.imageUrls],
    categories: [...product.categories],
    components: [...product.componentIds],
    hsaFsaEligibility: product.hsaFsaEligibility,
    eligibilityRationale: eligibilityRationaleOf(product),
    visitType: product.visitType,
    active: product.active,
    metadata: product.metadata,
    testMode,
    createdAtMs: msOf(product.createdAt),
    updatedAtMs: msOf(product.updatedAt),
  });
}

/** The product is inlined only where it is given. */
export function priceMessage(price: Price, testMode: boolean, product?: Product): PriceMessage {
  return messageOf(PriceSchema, {
    priceId: price.priceId,
    ownerPartnerId: price.accountId,
    description: price.description,
    unitAmountCents: price.unitAmountCents,
    recurring:
      price.recurringInterval === null
        ? null
        : messageOf(RecurringSchema, {
            interval: price.recurringInterval,
            intervalCount: price.recurringIntervalCount,
            trialPeriodDays: price.trialPeriodDays,
          }),
    active: price.active,
    productId: price.productId,
    product: product === undefined ? null : productMessage(product, testMode),
    createdAtMs: msOf(price.createdAt),
    metadata: price.metadata,
    lookupKey: price.lookupKey,
    hsaFsaEligibility: effectiveEligibility(price),
    testMode,
  });
}

export function componentMessage(component: Component, testMode: boolean): ComponentMessage {
  const { nutrition } = component;
  return messageOf(ComponentSchema, {
    componentId: component.componentId,
    componentNutritionId: component.componentNutritionId,
    name: component.name,
    shared: component.shared,
    testMode,
    category: component.category,
    servingSizeG: component.servingSizeG,
    nutrition: messageOf(NutritionSchema, {
      calories: nutrition.calories,
      totalFatG: nutrition.total_fat_g,
      saturatedFatG: nutrition.saturated_fat_g,
      transFatG: nutrition.trans_fat_g,
      carbohydrateG: nutrition.carbohydrate_g,
      fiberG: nutrition.fiber_g,
      proteinG: nutrition.protein_g,
      sodiumMg: nutrition.sodium_mg,
      addedSugarG: nutrition.added_sugar_g,
    }),
    vegan: component.vegan,
    glutenFree: component.glutenFree,
    canonicalFoodKey: component.canonicalFoodKey,
    clientReferenceId: component.clientReferenceId,
    metadata: component.metadata,
    createdAtMs: msOf(component.createdAt),
    updatedAtMs: msOf(component.updatedAt),
  });
}

export function couponMessage(coupon: Coupon, testMode: boolean): CouponMessage {
  return messageOf(CouponSchema, {
    couponId: coupon.couponId,
    name: coupon.name,
    amountOffCents: coupon.amountOffCents,
    percentOffBasisPoints: coupon.percentOffBasisPoints,
    duration: coupon.duration,
    durationInMonths: coupon.durationInMonths,
    maxRedemptions: coupon.maxRedemptions,
    timesRedeemed: coupon.timesRedeemed,
    appliesTo: { products: [...coupon.productIds], prices: [...coupon.priceIds] },
    valid: isCouponValid(coupon),
    metadata: coupon.metadata,
    testMode,
    createdAtMs: msOf(coupon.createdAt),
  });
}

export function promoCodeMessage(promoCode: PromoCode, testMode: boolean): PromoCodeMessage {
  return messageOf(PromoCodeSchema, {
    promoCodeId: promoCode.promoCodeId,
    code: promoCode.code,
    coupon: couponMessage(promoCode.coupon, testMode),
    customerId: promoCode.customerId,
    maxRedemptions: promoCode.maxRedemptions,
    timesRedeemed: promoCode.timesRedeemed,
    active: promoCode.active,
    expiresAtMs: promoCode.expiresAt === null ? null : msOf(promoCode.expiresAt),
    metadata: promoCode.metadata,
    testMode,
    createdAtMs: msOf(promoCode.createdAt),
  });
}

export function eligibilityMessage(decision: EligibilityDecision): EligibilityDecisionMessage {
  return messageOf(EligibilityDecisionSchema, {
    hsaFsaEligibility: decision.eligibility,
    rule: decision.rule,
    ruleVersion: decision.version,
    rationale: decision.rationale,
  });
}
