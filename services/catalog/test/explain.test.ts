import { readdir } from 'node:fs/promises';
import { type Database, type Db, openDatabase, openSession, type Session, unscoped } from '@eligo/postgres';
import { type TestDatabase, testDatabase } from '@eligo/testkit';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { catalogService } from '../src/service.ts';
import { findCartRecords, findPricesForProducts } from '../src/store/carts.ts';
import { findCoupons } from '../src/store/coupons.ts';
import { findProductCodes } from '../src/store/eligibility-sources.ts';
import { findPrices } from '../src/store/prices.ts';
import { findProducts } from '../src/store/products.ts';
import { findPromoCodes } from '../src/store/promo-codes.ts';
import { seed, seededAccount } from './seed.ts';

const declared = vi.hoisted(() => {
  // The files of this project share their modules: those that are loaded already declared their statements elsewhere.
  vi.resetModules();
  return new Map<string, string>();
});
vi.mock(import('@eligo/postgres'), async (importOriginal) => {
  const original = await importOriginal();
  const noting =
    <Statement extends { name: string; text: string; read?: { text: string } | undefined }>(
      declare: (name: string, text: string) => Statement,
    ) =>
    (name: string, text: string) => {
      const statement = declare(name, text);
      declared.set(name, text);
      // A `with` that writes runs in transactions alone.
      if (statement.read !== undefined && !/^\s*update\b/m.test(text))
        declared.set(`${name} in one trip`, statement.read.text);
      return statement;
    };
  return { ...original, scoped: noting(original.scoped) as never, unscoped: noting(original.unscoped) as never };
});

// An import reads its own staging tables and the whole current list: that is its work.
const wholeTables = new Set(['product_codes.compare', 'product_codes.close', 'product_codes.open']);

// Statements of the packages that the service stands on, which hold their own.
const ofPackages = /^(events\.|service_)/;
// The named exceptions of invariant 6.
const accountless = /^(component_names|product_code)/;

let place: TestDatabase;
let database: Database;
let session: Session;

beforeAll(async () => {
  place = await testDatabase(catalogService);
  await seed(place, { accounts: 20, each: 250 });
  database = openDatabase({ url: place.urlOf('catalog'), applicationName: 'explain', schema: 'catalog' });
  session = await openSession(database, 'explain');
  await declareLists();
}, 120_000);

afterAll(async () => {
  await session.close();
  await database.close();
  await place.drop();
  vi.resetModules();
});

/** Has every shape of every list declared, by a database that answers nothing. */
async function declareLists(): Promise<void> {
  const nothing = { rows: async () => [], row: async () => ({}) } as unknown as Db;
  const [{ listPrices }, products, rates, components, coupons, promoCodes] = await Promise.all([
    import('../src/store/price-list.ts'),
    import('../src/store/products.ts'),
    import('../src/store/shipping-rates.ts'),
    import('../src/store/components.ts'),
    import('../src/store/coupons.ts'),
    import('../src/store/promo-codes.ts'),
  ]);
  const scope = { accountId: 'facct_x', testMode: true };
  const pairs = [
    ['a', '1'],
    ['b', '2'],
    ['c', '3'],
    ['d', '4'],
    ['e', '5'],
  ];
  for (const cursor of [{}, { startingAfter: 'x' }, { endingBefore: 'x' }]) {
    const page = { limit: 10, offset: 0, startingAfter: undefined, endingBefore: undefined, ...cursor };
    for (const count of [0, 1, 2, 3, 5]) {
      const metadata = Object.fromEntries(pairs.slice(0, count));
      for (const productId of [undefined, 'fprod_x']) {
        for (const lookupKeys of [[], ['a']])
          await listPrices(nothing, scope, page, { active: true, productId, lookupKeys, metadata });
      }
      for (const active of [undefined, true]) {
        for (const clientReferenceId of [undefined, 'r']) {
          await products.listProducts(nothing, scope, page, { active, clientReferenceId, metadata });
        }
      }
    }
    for (const active of [undefined, true]) await rates.listShippingRates(nothing, scope, page, active);
    for (const reference of [undefined, 'r']) await components.listComponents(nothing, scope, page, reference);
    await coupons.listCoupons(nothing, scope, page);
    for (let bits = 0; bits < 16; bits++) {
      const filter = {
        codeKey: bits & 1 ? 'x' : undefined,
        couponId: bits & 2 ? 'x' : undefined,
        customerId: bits & 4 ? 'x' : undefined,
        active: bits & 8 ? true : undefined,
      };
      await promoCodes.listPromoCodes(nothing, scope, page, filter);
    }
  }
}

interface PlanNode {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Index Name'?: string;
  readonly 'Index Cond'?: string;
  readonly Plans?: readonly PlanNode[];
}

function nodesOf(node: PlanNode): PlanNode[] {
  return [node, ...(node.Plans ?? []).flatMap(nodesOf)];
}

const readsList = /\.list.* in one trip$/;
// One component has a reference, and one price a lookup key, of which a request names ten; a code or a customer
// has few promo codes. Of several pairs, or one and a product or a state, what is sorted are those that are among the newest of each.
const fewRows =
  /^(components\.list\.reference|prices\.list\..*keys|promo_codes\.list\..*(code|customer)|prices\.list\.([23]|product\.[123])\b|products\.list\.(.*\.)?[123]\b)/;

// A list that sorts before its limit reads all that an account has.
function sortsUnderLimit(plan: PlanNode): boolean {
  return nodesOf(plan).some(
    (node) => node['Node Type'] === 'Limit' && nodesOf(node).some((under) => under['Node Type'] === 'Sort'),
  );
}

describe('the plan of every statement', () => {
  it('reads no table from end to end and no index without its account, under row-level security, as the service’s own role', async () => {
    const store = new URL('../src/store/', import.meta.url);
    for (const file of await readdir(store)) await import(new URL(file, store).href);
    expect(declared.size).toBeGreaterThan(150);
    const scanned: string[] = [];
    const sorted: string[] = [];
    for (const [name, text] of declared) {
      if (wholeTables.has(name) || ofPackages.test(name) || /^\s*truncate/.test(text)) continue;
      const [row] = await session.query<{ 'QUERY PLAN': { Plan: PlanNode }[] }>(
        `explain (format json, generic_plan) ${text}`,
      );
      const plan = row?.['QUERY PLAN'][0]?.Plan;
      if (plan === undefined) throw new Error(`no plan for ${name}`);
      if (readsList.test(name) && !fewRows.test(name) && sortsUnderLimit(plan)) sorted.push(name);
      for (const node of nodesOf(plan)) {
        if (node['Node Type'] === 'Seq Scan') scanned.push(`${name}: ${node['Relation Name']}`);
        const index = node['Index Name'];
        if (index === undefined || accountless.test(index)) continue;
        if (!node['Index Cond']?.includes('account_id')) scanned.push(`${name}: ${index} without the account`);
        // Before the id in this index: without it all that have the pair would be read for each record that is asked about.
        if (index === 'price_metadata_pkey' && !node['Index Cond']?.includes('listing'))
          scanned.push(`${name}: any listing`);
      }
    }
    expect(scanned).toEqual([]);
    expect(sorted).toEqual([]);
  });

  it('of a function that finds by pairs searches their inverted index, and looks up products and what propagates only, as the role that it runs as', async () => {
    const finders = await place.admin<{ name: string; source: string; settings: string[] }>(
      `select proname as name, prosrc as source, proconfig as settings from pg_proc
       where pronamespace = 'catalog'::regnamespace and proname ~ '_by_pairs$' order by 1`,
    );
    expect(finders.map(({ name }) => name)).toEqual(Object.keys(indexesOfFinders));
    const admin = openDatabase({ url: place.adminUrl, applicationName: 'explain', schema: 'catalog' });
    const finder = await openSession(admin, 'explain');
    try {
      await finder.query('set role eligo_finder');
      for (const { name, source, settings } of finders) {
        for (const setting of settings) {
          const [parameter, value] = setting.split('=');
          await finder.query(`set ${parameter} = ${value}`);
        }
        const [row] = await finder.query<{ 'QUERY PLAN': { Plan: PlanNode }[] }>(
          `explain (format json, generic_plan) ${source}`,
        );
        const plan = row?.['QUERY PLAN'][0]?.Plan;
        if (plan === undefined) throw new Error(`no plan for ${name}`);
        const indexes = nodesOf(plan).flatMap((node) => node['Index Name'] ?? []);
        expect([...new Set(indexes)].toSorted()).toEqual(indexesOfFinders[name]);
        expect(nodesOf(plan).map((node) => node['Node Type'])).not.toContain('Seq Scan');
      }
    } finally {
      await finder.close();
      await admin.close();
    }
  });

  it('that reads what an array names is made once and kept, and not for each array', async () => {
    const one = openDatabase({ url: place.urlOf('catalog'), applicationName: 'explain', schema: 'catalog', max: 1 });
    const scope = { accountId: seededAccount(1), testMode: true };
    const ids = (prefix: string, number: number) =>
      [number, number + 20, number + 40].map((n) => `${prefix}_${String(n).padStart(26, '0')}`);
    for (let number = 1; number <= 12; number++) {
      const [priceIds, productIds, couponIds] = [ids('fprice', number), ids('fprod', number), ids('fcoup', number)];
      const [shippingRateId] = ids('fshr', number);
      const [found] = await findCartRecords(one, scope, [{ priceIds, ownIds: [], shippingRateId }]);
      expect(found?.prices.size).toBe(3);
      expect(await findPricesForProducts(one, scope, productIds)).toHaveProperty('size', 3);
      expect(await findPrices(one, scope, priceIds)).toHaveLength(3);
      expect(await findProducts(one, scope, productIds)).toHaveLength(3);
      expect(await findCoupons(one, scope, couponIds)).toHaveLength(3);
      expect(await findPromoCodes(one, scope, ids('fpromo', number), [`code${number}`])).toHaveLength(4);
      await findProductCodes(one, scope, ['00012345678905', '00012345678912'], new Date());
    }
    const plans = unscoped<{ name: string; planned: bigint; kept: bigint }>(
      'explain.plans',
      `select split_part(name, ':', 1) as name, custom_plans as planned, generic_plans as kept
       from pg_prepared_statements where name not like 'explain.%' order by 1`,
    );
    // The server looks at the values of the first five before it knows better.
    const statements = ['carts.find', 'carts.find_for_products', 'coupons.find_many', 'prices.find_many'];
    statements.push('product_codes.find', 'products.find_many', 'promo_codes.find_many');
    expect(await one.rows(plans, null)).toEqual(statements.map((name) => ({ name, planned: 5n, kept: 7n })));
    await one.close();
  });
});

const indexesOfFinders: Record<string, string[]> = {
  find_prices_by_pairs: ['prices_tokens', 'products_pkey', 'propagating_products_of_account'],
  find_product_prices_by_pairs: ['prices_tokens', 'products_pkey'],
  find_products_by_pairs: ['products_tokens'],
};
