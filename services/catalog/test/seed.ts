import type { TestDatabase } from '@eligo/testkit';

/** How much to make: accounts in test mode, and prices, products and so on of each. */
export interface Seed {
  readonly accounts: number;
  readonly each: number;
}

/** The id of the seeded account of this number, from 1. */
export function seededAccount(number: number): string {
  return `facct_${String(number).padStart(26, '0')}`;
}

/**
 * Fills every table by a few statements, as the superuser. Products and prices of an account are as many as asked for, one price to a
 * product; every price has four metadata pairs, of which `size` takes 10 values and `color` 7.
 */
export async function seed(place: TestDatabase, wanted: Seed): Promise<void> {
  const rows = rowsOf(Array.from({ length: wanted.accounts }, () => wanted.each));
  const inserts = insertsOf(rows, wanted.accounts * wanted.each, metadata).map((text) => `insert into ${text}`);
  // Statistics and visibility are made here and then left alone, so that a plan is the same in every run.
  const tables = await place.admin<{ name: string }>(
    "select tablename as name from pg_tables where schemaname = 'catalog'",
  );
  for (const { name } of tables) await place.admin(`alter table catalog.${name} set (autovacuum_enabled = off)`);
  await place.admin(`set search_path = catalog; ${inserts.join('; ')}; reset search_path`);
  for (const { name } of tables) await place.admin(`vacuum (analyze) catalog.${name}`);
}

const metadata: SeedMetadata = {
  prices: { size: "'s' || n % 10", color: "'c' || n % 7", sku: "'k' || n", shop: "'one'" },
  products: { brand: "'b' || n % 5", line: "'l' || n % 3" },
};

/** The metadata pairs of every price and product: SQL of each key's value, from the record's number `n`. */
export interface SeedMetadata {
  readonly prices: Readonly<Record<string, string>>;
  readonly products: Readonly<Record<string, string>>;
}

/** The `from` of an insert of so many records of each account, numbered within it. */
export function rowsOf(counts: readonly number[]): string {
  const accounts = counts.map((count, index) => `('${seededAccount(index + 1)}', ${index + 1}, ${count})`);
  return `from (values ${accounts.join(', ')}) accounts (account, a, count)
    cross join lateral (select n, lpad(n::text, 26, '0') as id from generate_series(1, count) n order by n) numbers`;
}

/**
 * The inserts that fill the tables, as `<table> (<columns>) select …`, with `shared` of each record that belongs to no account. The tables of metadata
 * pairs are filled by their triggers.
 */
export function insertsOf(rows: string, shared: number, { prices, products }: SeedMetadata): string[] {
  return [
    `shipping_rates (account_id, test_mode, shipping_rate_id, display_name, amount_cents, created_at)
     select account, true, 'fshr_' || id, 'Ground', 500, now() ${rows}`,
    `products (account_id, test_mode, product_id, name, client_reference_id, hsa_fsa_eligibility, metadata, created_at, updated_at)
     select account, true, 'fprod_' || id, 'Product ' || n, 'ref ' || n, case n % 2 when 0 then 'auto_substantiation' end,
       ${objectOf(products)}, now(), now() ${rows}`,
    `prices (account_id, test_mode, price_id, product_id, product_active, product_eligibility_key, unit_amount_cents, lookup_key,
       metadata, created_at, updated_at)
     select account, true, 'fprice_' || id, 'fprod_' || id, true, case n % 2 when 0 then 'auto_substantiation' else '' end, n % 10000,
       'sku-' || n, ${objectOf(prices)}, now(), now() ${rows}`,
    `propagating_products (account_id, test_mode, product_id) select account, true, 'fprod_' || id ${rows}`,
    `component_names (test_mode, name_hash, component_id, created_at)
     select true, sha256(id::bytea), 'fcomp_' || id, now() from generate_series(1, ${shared}) n
     cross join lateral (select lpad(n::text, 26, '0') as id) named`,
    `component_nutrition (account_id, test_mode, component_nutrition_id, component_id, name, shared, client_reference_id,
       created_at, updated_at)
     select account, true, 'fcn_' || id, 'fcomp_' || id, 'Component ' || n, a > 1, 'ref ' || n, now(), now() ${rows}`,
    `coupons (account_id, test_mode, coupon_id, percent_off_basis_points, duration, created_at)
     select account, true, 'fcoup_' || id, 1000, 'once', now() ${rows}`,
    `promo_codes (account_id, test_mode, promo_code_id, code, code_key, coupon_id, customer_id, created_at)
     select account, true, 'fpromo_' || id, 'CODE' || n, 'code' || n, 'fcoup_' || id, 'fcus_' || id, now() ${rows}`,
    `inline_lines (account_id, test_mode, session_id, line_index, price_id, product_id, product_made, created_at)
     select account, true, 'fcs_' || id, 0, 'fprice_' || id, 'fprod_' || id, true, now() ${rows}`,
    `inline_coupons (account_id, test_mode, session_id, discount_index, coupon_id, created_at)
     select account, true, 'fcs_' || id, 0, 'fcoup_' || id, now() ${rows}`,
    `redemptions (account_id, test_mode, session_id, state, coupon_ids, promo_code_ids)
     select account, true, 'fcs_' || id, 'reserved', array['fcoup_' || id], '{}' ${rows}`,
    `food_policies (account_id, test_mode, version, effective_at, thresholds)
     select account, true, n, now() + n * interval '1 hour', '{"eligible_class": "service", "categories": {}}' ${rows}`,
    `product_code_versions (version, source, effective_at, imported_at, rows_total, rows_added, rows_changed, rows_removed)
     select n, 'seed', now() + n * interval '1 hour', now(), 0, 0, 0, 0 from generate_series(1, ${shared}) n`,
    `product_codes (gtin, version_from, hsa_fsa_eligibility)
     select lpad(n::text, 14, '0'), 1, 'vision' from generate_series(1, ${shared}) n`,
  ];
}

function objectOf(pairs: Readonly<Record<string, string>>): string {
  return `jsonb_build_object(${Object.entries(pairs)
    .map(([key, value]) => `'${key}', ${value}`)
    .join(', ')})`;
}
