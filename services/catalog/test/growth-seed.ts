import { fillTables, seededAccount, seededEvents, seededId, seededRows, type TestDatabase } from '@eligo/testkit';
import { insertsOf, type SeedMetadata } from './seed.ts';

/** Fills every table with `each` records of the seeded account and a fifth of them of others, each of which has one (ADR 3), without triggers. */
export async function seedCatalog(test: TestDatabase, each: number): Promise<void> {
  const rows = `from (select n, id, account, case account when '${seededAccount}' then 1 else 2 end as a ${seededRows(each)}) numbers`;
  await fillTables(test, 'catalog', [
    ...insertsOf(rows, each + each / 5, metadata),
    // A shop that sells one product at prices of its own leaves a price with each cart.
    `prices (account_id, test_mode, price_id, product_id, product_active, product_eligibility_key, unit_amount_cents, inline,
       created_at, updated_at)
     select account, true, 'fprice_c' || substr(id, 2), '${soldInCarts}', true, '', n, true, now(), now() ${rows}`,
    // All codes of a coupon but its oldest are archived, and so are those of a customer, of whose codes few are of that coupon.
    `promo_codes (account_id, test_mode, promo_code_id, code, code_key, coupon_id, active, created_at)
     select account, true, 'fpromo_c' || substr(id, 2), 'OF' || n, 'of' || n, '${couponOfMany}', n <= 5, now() ${rows}`,
    `promo_codes (account_id, test_mode, promo_code_id, code, code_key, coupon_id, customer_id, active, created_at)
     select account, true, 'fpromo_d' || substr(id, 2), 'TO' || n, 'to' || n,
       case when n <= 5 then '${couponOfMany}' else 'fcoup_' || id end, '${customerOfMany}', n <= 5, now() ${rows}`,
    // Of a brand's products the oldest are for sale, and of a product's prices the oldest few have a pair that all of the account's others have.
    `products (account_id, test_mode, product_id, active, metadata, created_at, updated_at)
     select account, true, 'fprod_c' || substr(id, 2), n <= 5, '{"maker": "old", "any": "one"}', now(), now() ${rows}`,
    `products (account_id, test_mode, product_id, pending, active, metadata, created_at, updated_at)
     select account, true, 'fprod_d' || substr(id, 2), true, false, '{"any": "one"}', now(), now() ${rows}`,
    `product_metadata (account_id, test_mode, key, value, product_id)
     select account, true, key, value, 'fprod_c' || substr(id, 2) ${rows} cross join (values ('maker', 'old'), ('any', 'one')) pairs (key, value)`,
    `product_metadata (account_id, test_mode, key, value, product_id)
     select account, true, 'any', 'one', 'fprod_d' || substr(id, 2) ${rows}`,
    `prices (account_id, test_mode, price_id, product_id, product_active, product_eligibility_key, unit_amount_cents, metadata,
       created_at, updated_at)
     select account, true, 'fprice_b' || substr(id, 2), '${ofManyPrices}', true, '', n,
       case when n <= 5 then '{"shop": "one", "cut": "x"}' else '{"cut": "y"}' end::jsonb, now(), now() ${rows}`,
    `price_metadata (account_id, test_mode, key, value, listing, price_id)
     select account, true, 'cut', case when n <= 5 then 'x' else 'y' end, 'active', 'fprice_b' || substr(id, 2) ${rows}`,
    `price_metadata (account_id, test_mode, key, value, listing, price_id)
     select account, true, 'shop', 'one', 'active', 'fprice_b' || substr(id, 2) ${rows} where n <= 5`,
    ...Object.entries(metadata.prices).map(
      ([key, value]) => `price_metadata (account_id, test_mode, key, value, listing, price_id)
        select account, true, '${key}', ${value}, 'active', 'fprice_' || id ${rows}`,
    ),
    ...Object.entries(metadata.products).map(
      ([key, value]) => `product_metadata (account_id, test_mode, key, value, product_id)
        select account, true, '${key}', ${value}, 'fprod_' || id ${rows}`,
    ),
    ...seededEvents(each),
  ]);
}

/** The product of which carts made prices. */
export const soldInCarts = seededId('fprod', 503);

/** The product of which the partner made many prices. */
export const ofManyPrices = seededId('fprod', 507);

/** The coupon and the customer of many promo codes. */
export const couponOfMany = seededId('fcoup', 503);
export const customerOfMany = seededId('fcus', 503);

/** A pair that one price has, one that a tenth has, and one that all have; the tables of pairs are most of what is seeded. */
const metadata: SeedMetadata = {
  prices: { size: "'s' || n % 10", sku: "'k' || n", shop: "'one'" },
  products: { brand: "'b' || n % 5" },
};
