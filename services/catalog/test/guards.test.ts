import { openSession, type Session } from '@eligo/postgres';
import { newId } from '@eligo/values';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Fixture, openFixture, type Shop } from './fixture.ts';

let on: Fixture;
let shop: Shop;
let session: Session;

beforeAll(async () => {
  on = await openFixture();
  shop = on.account();
  session = await openSession(on.database, 'guards');
  const { couponId } = await on.gateway.createCoupon({ amountOffCents: 5n, maxRedemptions: 3 }, shop);
  await on.gateway.createPromoCode({ couponId, code: 'GUARD' }, shop);
  await on.gateway.createShippingRate({ displayName: 'Ground', amountCents: 5n }, shop);
  await on.gateway.createComponent({ name: newId('product'), servingSizeG: '5' }, shop);
  const owner = { case: 'productData', value: { metadata: { a: '1' } } } as const;
  await on.gateway.createPrice({ unitAmountCents: 5n, owner, metadata: { a: '1' }, lookupKey: 'k' }, shop);
  const line = { owner: { case: 'productData', value: {} }, unitAmountCents: 1n } as const;
  await on.checkout.resolveCart(
    {
      sessionId: 'fcs_guard',
      lines: [{ item: { case: 'priceData', value: line }, quantity: 1n }],
      discounts: [{ source: { case: 'couponData', value: { amountOffCents: 1n } } }],
    },
    shop.atCheckout,
  );
  await on.place.admin(
    'insert into catalog.propagating_products (account_id, test_mode, product_id) select account_id, test_mode, product_id from catalog.products',
  );
  await on.checkout.reserveRedemption({ sessionId: 'fcs_guard', couponIds: [couponId] }, shop.atCheckout);
});
afterAll(async () => {
  await session.close();
  await on.close();
});

const scopedTables = [
  'component_nutrition',
  'coupons',
  'inline_coupons',
  'inline_lines',
  'price_metadata',
  'prices',
  'product_metadata',
  'products',
  'promo_codes',
  'propagating_products',
  'redemptions',
  'shipping_rates',
];

describe('row-level security', () => {
  it('is forced on every table of the catalog but the named exceptions', async () => {
    const rows = await on.place.admin<{ name: string }>(
      `select relname as name from pg_class where relnamespace = 'catalog'::regnamespace and relkind = 'r'
       and not (relrowsecurity and relforcerowsecurity) order by relname`,
    );
    const ofPackages = [
      'dead_letters',
      'inbox',
      'migrations',
      'operator_actions',
      'outbox',
      'outbox_positions',
      'outbox_pruned',
      'outbox_queue',
      'outbox_repairs',
      'outbox_stream',
    ];
    expect(rows.map(({ name }) => name).filter((name) => !ofPackages.includes(name))).toEqual([
      'component_names',
      'product_code_changes',
      'product_code_staging',
      'product_code_versions',
      'product_codes',
    ]);
  });

  it('has seven named policies beside the account’s own', async () => {
    const rows = await on.place.admin<{ policy: string }>(
      `select tablename || ': ' || policyname || ' to ' || array_to_string(roles, ',') as policy from pg_policies
       where schemaname = 'catalog' and policyname <> 'account_scope' order by 1`,
    );
    expect(rows.map(({ policy }) => policy)).toEqual([
      'coupons: abandoned_coupon_read to eligo_finder',
      'food_policies: default_policy_read to public',
      'inline_coupons: abandoned_coupon_read to eligo_finder',
      'inline_lines: abandoned_line_read to eligo_finder',
      'prices: sibling_price_read to eligo_finder',
      'products: pair_finder_read to eligo_finder',
      'propagating_products: propagating_product_read to eligo_finder',
    ]);
  });

  it('alone shows a statement that forgets the account nothing of another, and nothing without a context [GEN-1]', async () => {
    const countIn = async (table: string, accountId: string, testMode: string) => {
      const context = "select set_config('eligo.account_id', $1, false), set_config('eligo.test_mode', $2, false)";
      await session.query(context, [accountId, testMode]);
      const [row] = await session.query<{ count: bigint }>(`select count(*) from ${table}`);
      return row?.count;
    };
    for (const table of scopedTables) {
      expect([table, (await countIn(table, shop.accountId, 'true')) ?? 0n]).not.toEqual([table, 0n]);
      expect([table, await countIn(table, shop.accountId, 'false')]).toEqual([table, 0n]);
      expect([table, await countIn(table, newId('account'), 'true')]).toEqual([table, 0n]);
      expect([table, await countIn(table, '', '')]).toEqual([table, 0n]);
    }
  });

  it('is not what finds by pairs: that answers for the account and mode of the context alone, whatever it is asked', async () => {
    const { accountId } = shop;
    const found = async (contextAccount: string, testMode: boolean) => {
      const context = "select set_config('eligo.account_id', $1, false), set_config('eligo.test_mode', $2, false)";
      await session.query(context, [contextAccount, String(testMode)]);
      const pairs = `'{"a": "1"}', 'first', '', 10, 0`;
      const prices = await session.query(`select find_prices_by_pairs($1, $2, 'active', ${pairs})`, [accountId, true]);
      const products = await session.query(`select find_products_by_pairs($1, $2, true, ${pairs})`, [accountId, true]);
      return [prices.length, products.length];
    };
    expect(await found(accountId, true)).toEqual([1, 1]);
    expect(await found(accountId, false)).toEqual([0, 0]);
    expect(await found(newId('account'), true)).toEqual([0, 0]);
  });

  it('lets the service’s role delete nothing that was sold, and change nothing that was decided', async () => {
    const kept = ['promo_codes', 'component_names', 'product_codes', 'food_policies', 'redemptions', 'shipping_rates'];
    for (const table of kept) await expect(session.query(`delete from ${table}`)).rejects.toThrow(/permission denied/);
    const context = "select set_config('eligo.account_id', $1, false), set_config('eligo.test_mode', 'true', false)";
    await session.query(context, [shop.accountId]);
    for (const table of ['coupons', 'prices', 'products']) {
      await expect(session.query(`delete from ${table}`)).rejects.toThrow(/not pending/);
    }
    const fixed = ['component_names', 'food_policies', 'product_code_versions', 'inline_lines', 'inline_coupons'];
    for (const table of fixed) {
      const [column] = await on.place.admin<{ name: string }>(
        'select attname as name from pg_attribute where attrelid = $1::regclass and attnum = 1',
        [`catalog.${table}`],
      );
      const update = session.query(`update ${table} set ${column?.name} = ${column?.name}`);
      await expect(update).rejects.toThrow(/permission denied/);
    }
  });
});

it('a redemption that is settled does not move', async () => {
  await on.checkout.finalizeRedemption({ sessionId: 'fcs_guard' }, shop.atCheckout);
  const moved = on.place.admin("update catalog.redemptions set state = 'released'");
  await expect(moved).rejects.toThrow(/does not move/);
});
