import { newId } from '@eligo/values';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { nutrients } from '../src/domain/nutrition.ts';
import { importProductCodes } from '../src/import/product-codes.ts';
import { type Fixture, openFixture } from './fixture.ts';

let on: Fixture;

beforeAll(async () => {
  on = await openFixture();
  const shop = on.account();
  await on.gateway.createShippingRate({ displayName: 'Ground', amountCents: 5n }, shop);
  await on.gateway.createComponent({ name: newId('product'), clientReferenceId: 'r' }, shop);
  await on.gateway.createComponent({ name: newId('product') }, shop);
  const owner = { case: 'productData', value: { name: 'Mug' } } as const;
  await on.gateway.createPrice({ unitAmountCents: 5n, owner }, shop);
  const { couponId } = await on.gateway.createCoupon({ amountOffCents: 5n, maxRedemptions: 3 }, shop);
  const { promoCodeId } = await on.gateway.createPromoCode({ couponId, code: 'ONE', maxRedemptions: 3 }, shop);
  const redemption = { sessionId: 'fcs_one', promoCodeIds: [promoCodeId] };
  await on.checkout.reserveRedemption(redemption, shop.atCheckout);
  await on.place.admin(
    'insert into catalog.propagating_products (account_id, test_mode, product_id) select account_id, test_mode, product_id from catalog.products',
  );
  const inline = { owner: { case: 'productData', value: {} }, unitAmountCents: 1n } as const;
  await on.checkout.resolveCart(
    {
      sessionId: 'fcs_one',
      lines: [{ item: { case: 'priceData', value: inline }, quantity: 1n }],
      discounts: [{ source: { case: 'couponData', value: { amountOffCents: 1n } } }],
    },
    shop.atCheckout,
  );
  const source = ['code,class\n036000291452,vision\n4006381333931,service\n'] as never;
  await importProductCodes({ database: on.database, source, name: 'test' });
});
afterAll(() => on.close());

// What the packages that the service stands on keep in its schema has their own tests.
const ofPackages = `('dead_letters', 'inbox', 'migrations', 'operator_actions', 'outbox', 'outbox_positions', 'outbox_pruned', 'outbox_queue',
  'outbox_repairs', 'outbox_stream')`;

/** A change that a check refuses, whatever the triggers would say of it; by constraint, of which some have several sides. */
const violations: readonly (readonly [constraint: string, change: string])[] = [
  ['shipping_rates_amount_range', 'shipping_rates set amount_cents = -1'],
  ['shipping_rates_amount_range', 'shipping_rates set amount_cents = 9007199254740992'],
  ['shipping_rates_metadata_is_object', "shipping_rates set metadata = '[]'"],
  ['products_class', "products set hsa_fsa_eligibility = 'magic'"],
  ['products_client_reference_length', "products set client_reference_id = repeat('x', 501)"],
  ['products_metadata_is_object', "products set metadata = '[]'"],
  ['products_pending_is_inactive', 'products set active = true, pending = true'],
  ['prices_amount_range', 'prices set unit_amount_cents = -1'],
  ['prices_amount_range', 'prices set unit_amount_cents = 9007199254740992'],
  ['prices_class', "prices set hsa_fsa_eligibility = 'magic'"],
  ['prices_interval', "prices set recurring_interval = 'hour', recurring_interval_count = 1"],
  ['prices_interval_count_positive', "prices set recurring_interval = 'day', recurring_interval_count = 0"],
  ['prices_lookup_key_length', "prices set lookup_key = ''"],
  ['prices_lookup_key_length', "prices set lookup_key = repeat('x', 501)"],
  ['prices_metadata_is_object', "prices set metadata = '[]'"],
  ['prices_pending_is_inactive', 'prices set active = true, pending = true'],
  ['prices_recurring_whole', "prices set recurring_interval = 'day'"],
  ['prices_recurring_whole', 'prices set recurring_interval_count = 1'],
  ['prices_recurring_whole', 'prices set trial_period_days = 1'],
  [
    'prices_trial_not_negative',
    "prices set recurring_interval = 'day', recurring_interval_count = 1, trial_period_days = -1",
  ],
  ['component_names_hash_length', "component_names set name_hash = '\\x00'"],
  ['component_nutrition_client_reference_length', "component_nutrition set client_reference_id = repeat('x', 501)"],
  ['component_nutrition_metadata_is_object', "component_nutrition set metadata = '[]'"],
  ...nutrients.map((name) => ['component_nutrition_not_negative', `component_nutrition set ${name} = -1`] as const),
  ['component_nutrition_serving_positive', 'component_nutrition set serving_size_g = 0'],
  ['coupons_amount_or_percent', 'coupons set percent_off_basis_points = 1'],
  ['coupons_amount_or_percent', 'coupons set amount_off_cents = null'],
  ['coupons_amount_range', 'coupons set amount_off_cents = -1'],
  ['coupons_duration', "coupons set duration = 'twice'"],
  ['coupons_max_positive', 'coupons set max_redemptions = 0, times_redeemed = 0'],
  ['coupons_metadata_is_object', "coupons set metadata = '[]'"],
  ['coupons_months', "coupons set duration = 'repeating'"],
  ['coupons_months', "coupons set duration = 'repeating', duration_in_months = 0"],
  ['coupons_months', 'coupons set duration_in_months = 1'],
  ['coupons_one_restriction', "coupons set product_ids = '{a}', price_ids = '{b}'"],
  ['coupons_pending_is_unused', 'coupons set pending = true, times_redeemed = 0 where not inline'],
  ['coupons_pending_is_unused', 'coupons set pending = true, times_redeemed = 1 where inline'],
  ['coupons_percent_range', 'coupons set amount_off_cents = null, percent_off_basis_points = 0'],
  ['coupons_percent_range', 'coupons set amount_off_cents = null, percent_off_basis_points = 10001'],
  ['coupons_redeemed_within_limit', 'coupons set times_redeemed = -1'],
  ['coupons_redeemed_within_limit', 'coupons set times_redeemed = 4 where max_redemptions = 3'],
  ['promo_codes_code_length', "promo_codes set code = ''"],
  ['promo_codes_code_length', "promo_codes set code_key = ''"],
  ['promo_codes_max_positive', 'promo_codes set max_redemptions = 0, times_redeemed = 0'],
  ['promo_codes_metadata_is_object', "promo_codes set metadata = '[]'"],
  ['promo_codes_redeemed_within_limit', 'promo_codes set times_redeemed = -1'],
  ['promo_codes_redeemed_within_limit', 'promo_codes set times_redeemed = 4'],
  ['propagating_products_tries', 'propagating_products set tries = -1'],
  ['redemptions_settled', "redemptions set state = 'final'"],
  ['redemptions_settled', 'redemptions set settled_at = now()'],
  ['redemptions_state', "redemptions set state = 'spent', settled_at = now()"],
  ['product_code_versions_not_backdated', "product_code_versions set effective_at = imported_at - interval '1 ms'"],
  ['product_code_versions_positive', 'product_code_versions set version = 0'],
  ['product_codes_class', "product_codes set hsa_fsa_eligibility = 'magic'"],
  ['product_codes_effect', 'product_codes set effective_to = effective_from'],
  ['product_codes_gtin', "product_codes set gtin = '036000291452'"],
  ['product_codes_versions', 'product_codes set version_to = version_from'],
  ['food_policies_not_backdated', "food_policies set effective_at = created_at - interval '1 ms'"],
  ['food_policies_positive', 'food_policies set version = 0'],
  ['food_policies_shape', "food_policies set thresholds = '[]'"],
  ['food_policies_shape', 'food_policies set thresholds = thresholds || \'{"categories": []}\''],
  ['food_policies_shape', 'food_policies set thresholds = thresholds || \'{"eligible_class": "vision"}\''],
];

describe('every check of a table', () => {
  it.each(violations)('%s refuses: %s [COMP-2]', async (constraint, change) => {
    // Without the triggers, of which many would refuse it first.
    const alone = on.place.admin(`set local session_replication_role = replica; update catalog.${change}`);
    await expect(alone).rejects.toThrow(new RegExp(`violates check constraint "${constraint}"`));
  });

  it('is one of these', async () => {
    const rows = await on.place.admin<{ name: string }>(
      `select conname as name from pg_constraint c join pg_class t on t.oid = c.conrelid
       where c.connamespace = 'catalog'::regnamespace and c.contype = 'c' and t.relname not in ${ofPackages}`,
    );
    const names = new Set(violations.map(([constraint]) => constraint));
    expect([...names].sort()).toEqual(rows.map(({ name }) => name).sort());
  });
});

describe('a reference', () => {
  const copies: readonly (readonly [constraint: string, table: string, changes: object])[] = [
    ['promo_codes_coupon', 'promo_codes', { promo_code_id: 'x', code_key: 'x', coupon_id: 'nobody' }],
    [
      'component_nutrition_name',
      'component_nutrition',
      { component_nutrition_id: 'x', component_id: 'nobody', client_reference_id: null },
    ],
    ['propagating_products_product', 'propagating_products', { product_id: 'nobody' }],
    ['inline_lines_price', 'inline_lines', { line_index: 9, price_id: 'nobody' }],
    ['inline_coupons_coupon', 'inline_coupons', { discount_index: 9, coupon_id: 'nobody' }],
  ];

  it.each(copies)('%s names what there is', async (constraint, table, changes) => {
    const copy = on.place.admin(
      `insert into catalog.${table} select (jsonb_populate_record(r, $1)).* from catalog.${table} r limit 1`,
      [JSON.stringify(changes)],
    );
    await expect(copy).rejects.toThrow(new RegExp(`violates foreign key constraint "${constraint}"`));
  });

  it('prices_of_product names what there is', async () => {
    const insert = on.place.admin(
      `insert into catalog.prices (account_id, test_mode, price_id, product_id, product_active, product_eligibility_key, unit_amount_cents,
         created_at, updated_at) values ('a', true, 'x', 'nobody', true, '', 1, now(), now())`,
    );
    await expect(insert).rejects.toThrow(/violates foreign key constraint "prices_of_product"/);
  });
});

describe('what is one of its kind', () => {
  const twice: readonly (readonly [constraint: string, change: string])[] = [
    ['component_names_component', "component_names set component_id = 'one'"],
    ['component_nutrition_registered_once', "component_nutrition set component_id = 'one'"],
    ['component_nutrition_client_reference', "component_nutrition set client_reference_id = 'one'"],
    ['prices_lookup_key', "prices set lookup_key = 'one'"],
  ];

  it.each(twice)('%s is not there twice', async (constraint, change) => {
    const both = on.place.admin(`set local session_replication_role = replica; update catalog.${change}`);
    await expect(both).rejects.toThrow(new RegExp(`violates unique constraint "${constraint}"`));
  });

  it('is a code’s entry on the current list', async () => {
    const again = on.place.admin(
      "insert into catalog.product_codes (gtin, version_from, hsa_fsa_eligibility) values ('00036000291452', 2, 'vision')",
    );
    await expect(again).rejects.toThrow(/violates unique constraint "product_codes_current"/);
  });
});

/** The columns that may change; of every other the trigger says that it never does. Keys and generated columns are left out. */
const mutable: Readonly<Record<string, readonly string[]>> = {
  shipping_rates: ['active', 'metadata'],
  prices: [
    ...['product_active', 'product_eligibility_key', 'description', 'active', 'pending', 'lookup_key'],
    ...['hsa_fsa_eligibility', 'metadata', 'updated_at'],
  ],
  component_nutrition: [
    ...['category', 'serving_size_g', ...nutrients, 'vegan', 'gluten_free', 'canonical_food_key'],
    ...['client_reference_id', 'metadata', 'updated_at'],
  ],
  coupons: ['name', 'max_redemptions', 'times_redeemed', 'pending', 'metadata', 'deleted_at'],
  promo_codes: ['times_redeemed', 'active', 'metadata'],
  redemptions: ['state', 'settled_at'],
  product_codes: ['version_to'],
  food_policies: [],
};

const changed: Readonly<Record<string, (column: string) => string>> = {
  text: (column) => `coalesce(${column}, '') || 'x'`,
  bool: (column) => `not ${column}`,
  int4: (column) => `coalesce(${column}, 0) + 1`,
  int8: (column) => `coalesce(${column}, 0) + 1`,
  _text: (column) => `array_append(${column}, 'x')`,
  jsonb: (column) => `${column} || '{"x": "y"}'`,
  timestamptz: (column) => `coalesce(nullif(nullif(${column}, 'infinity'), '-infinity'), now()) + interval '1 day'`,
};

describe('what never changes', () => {
  it.each(Object.keys(mutable))('of %s is refused column by column', async (table) => {
    const columns = await on.place.admin<{ name: string; type: string }>(
      `select a.attname as name, t.typname as type from pg_attribute a join pg_type t on t.oid = a.atttypid
       where a.attrelid = $1::regclass and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
         and not exists (select from pg_index i where i.indrelid = a.attrelid and i.indisprimary and a.attnum = any(i.indkey))`,
      [`catalog.${table}`],
    );
    const refused: string[] = [];
    for (const { name, type } of columns) {
      if (mutable[table]?.includes(name)) continue;
      const value = changed[type]?.(name);
      if (value === undefined) throw new Error(`no other value for ${name}, a ${type}`);
      const outcome = await on.place.admin(`update catalog.${table} set ${name} = ${value}`).then(
        () => 'was changed',
        (error: Error) => error.message,
      );
      expect([name, outcome]).toEqual([name, `a column of ${table} that never changes was changed`]);
      refused.push(name);
    }
    expect(refused.length).toBeGreaterThan(0);
  });

  it('of a code on the list is also when it ended', async () => {
    await on.place.admin("update catalog.product_codes set version_to = 2 where gtin = '04006381333931'");
    const revived = on.place.admin("update catalog.product_codes set version_to = null where gtin = '04006381333931'");
    await expect(revived).rejects.toThrow(/never changes/);
  });
});
