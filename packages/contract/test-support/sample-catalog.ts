import { create } from '@bufbuild/protobuf';
import { ComponentSchema, CouponSchema, PriceSchema, ProductSchema } from '@eligo/proto/catalog/v1/catalog';
import { newId } from '@eligo/values';

/** The catalog's part of the sample messages. */
export function sampleCatalog(
  accountId: string,
  at: { readonly createdAtMs: bigint; readonly testMode: boolean },
  metadata: Record<string, string>,
) {
  const product = create(ProductSchema, {
    productId: newId('product'),
    name: 'Thermometer',
    description: 'Reads a temperature',
    upcCode: '036000291452',
    gtin: '00036000291452',
    referenceGtin: '00036000291452',
    url: 'https://shop.example/thermometer',
    clientReferenceId: 'sku-1',
    imageUrls: ['https://shop.example/thermometer.png'],
    categories: ['diagnostics'],
    components: [newId('product_component')],
    hsaFsaEligibility: 'auto_substantiation',
    eligibilityRationale: 'On the list',
    visitType: 'general',
    active: true,
    metadata,
    updatedAtMs: at.createdAtMs,
    ...at,
  });
  const price = create(PriceSchema, {
    priceId: newId('price'),
    ownerPartnerId: accountId,
    description: 'Monthly',
    unitAmountCents: 1999n,
    recurring: { interval: 'month', intervalCount: 1, trialPeriodDays: 7 },
    active: true,
    productId: product.productId,
    lookupKey: 'thermo-monthly',
    hsaFsaEligibility: 'auto_substantiation',
    metadata,
    ...at,
  });
  const coupon = create(CouponSchema, {
    couponId: newId('coupon'),
    name: 'Spring',
    percentOffBasisPoints: 3000,
    duration: 'repeating',
    durationInMonths: 3,
    maxRedemptions: 10,
    timesRedeemed: 1,
    appliesTo: { products: [product.productId], prices: [price.priceId] },
    valid: true,
    metadata,
    ...at,
  });
  const component = create(ComponentSchema, {
    componentId: newId('product_component'),
    componentNutritionId: newId('component_nutrition'),
    name: 'Oats',
    shared: true,
    category: 'base',
    servingSizeG: '40',
    nutrition: { calories: '379', totalFatG: '6.52', sodiumMg: '6' },
    vegan: true,
    glutenFree: false,
    canonicalFoodKey: 'oats',
    clientReferenceId: 'oats-1',
    metadata,
    updatedAtMs: at.createdAtMs,
    ...at,
  });
  return { product, price, coupon, component };
}
