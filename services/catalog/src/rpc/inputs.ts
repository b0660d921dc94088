import type { AppliesTo, Nutrition, ProductData, Recurring } from '@eligo/proto/catalog/v1/catalog';
import { given } from '@eligo/values';
import type { CouponInput } from '../domain/coupon.ts';
import type { NutritionInput } from '../domain/nutrition.ts';
import type { PriceInput } from '../domain/price.ts';
import type { ProductInput } from '../domain/product.ts';

/** What `product` or `product_data` gives. */
export function productInputOf(data: ProductData | undefined): ProductInput {
  return {
    name: data?.name ?? null,
    description: data?.description ?? null,
    upcCode: data?.upcCode ?? null,
    gtin: data?.gtin ?? null,
    referenceGtin: data?.referenceGtin ?? null,
    url: data?.url ?? null,
    clientReferenceId: data?.clientReferenceId ?? null,
    imageUrls: data?.imageUrls ?? [],
    categories: data?.categories ?? [],
    componentIds: data?.components ?? [],
    hsaFsaEligibility: data?.hsaFsaEligibility ?? null,
    visitType: data?.visitType ?? null,
    active: data?.active ?? true,
    metadata: data?.metadata ?? {},
  };
}

/** What `recurring` gives; a count left out is one. */
export function recurringInputOf(recurring: Recurring | undefined): PriceInput['recurring'] {
  if (recurring === undefined) return null;
  return {
    interval: recurring.interval,
    intervalCount: recurring.intervalCount === 0 ? 1 : recurring.intervalCount,
    trialPeriodDays: recurring.trialPeriodDays ?? null,
  };
}

/** What `nutrition` gives: only the nutrients that it names. */
export function nutritionInputOf(nutrition: Nutrition | undefined): NutritionInput {
  if (nutrition === undefined) return {};
  const named = {
    calories: nutrition.calories,
    total_fat_g: nutrition.totalFatG,
    saturated_fat_g: nutrition.saturatedFatG,
    trans_fat_g: nutrition.transFatG,
    carbohydrate_g: nutrition.carbohydrateG,
    fiber_g: nutrition.fiberG,
    protein_g: nutrition.proteinG,
    sodium_mg: nutrition.sodiumMg,
    added_sugar_g: nutrition.addedSugarG,
  };
  return given(named);
}

/** What a coupon, or coupon_data, gives of its value. */
export function couponInputOf(data: {
  readonly name?: string | undefined;
  readonly amountOffCents?: bigint | undefined;
  readonly percentOffBasisPoints?: number | undefined;
  readonly duration?: string | undefined;
  readonly durationInMonths?: number | undefined;
  readonly maxRedemptions?: number | undefined;
  readonly appliesTo?: AppliesTo | undefined;
  readonly metadata?: { [key: string]: string } | undefined;
}): CouponInput {
  return {
    name: data.name ?? null,
    amountOffCents: data.amountOffCents ?? null,
    percentOffBasisPoints: data.percentOffBasisPoints ?? null,
    duration: data.duration ?? null,
    durationInMonths: data.durationInMonths ?? null,
    maxRedemptions: data.maxRedemptions ?? null,
    productIds: data.appliesTo?.products ?? [],
    priceIds: data.appliesTo?.prices ?? [],
    metadata: data.metadata ?? {},
  };
}
