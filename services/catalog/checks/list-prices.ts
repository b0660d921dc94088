import type { Database, Scope } from '@eligo/postgres';
import { testDatabase } from '@eligo/testkit';
import { setup, teardown } from '@eligo/testkit/global-setup';
import { catalogService } from '../src/service.ts';
import { listPrices } from '../src/store/price-list.ts';
import { findPrice } from '../src/store/prices.ts';

// How many pages of ten prices a second, by two metadata pairs, of accounts with 10,000, 100,000 and 1,000,000 prices (or as many as the
// arguments say), and how the larger ones do against the smallest: A B A B, medians of the rounds. On a server of its own, unless ELIGO_TEST_POSTGRES_URL
// names one.
const sizes = process.argv.length > 2 ? process.argv.slice(2).map(Number) : [10_000, 100_000, 1_000_000];
const rounds = 7;
const pagesARound = 400;
await setup();
const place = await testDatabase(catalogService);
try {
  const database = place.open('catalog', { max: 4, statementTimeoutMs: 60_000, connectionWaitMs: 60_000 });
  const scopes = sizes.map((_, index): Scope => ({ accountId: `facct_${index}`, testMode: true }));
  for (const [index, size] of sizes.entries()) await fill(`facct_${index}`, size);
  for (const table of ['products', 'prices', 'price_metadata']) await place.admin(`vacuum analyze catalog.${table}`);

  const cases: [string, (scope: Scope, size: number) => Promise<unknown>][] = [
    ['read a price', (scope, size) => findPrice(database, scope, idOf(1 + Math.floor(Math.random() * size)))],
    ['first page, no filter', (scope) => page(database, scope, {})],
    [
      'first page, two pairs',
      (scope) => page(database, scope, { size: `s${Math.floor(Math.random() * 10)}`, color: 'c3' }),
    ],
    ['two pairs that share nothing', (scope) => page(database, scope, { size: 's1', parity: 'even' })],
    [
      'three pairs, two of them disjoint',
      (scope) => page(database, scope, { size: 's1', parity: 'even', shop: 'one' }),
    ],
    [
      'one pair that all have, one that one has',
      (scope, size) => page(database, scope, { shop: 'one', sku: `k${size / 2}` }),
    ],
    ['page 1,000 by cursor, no filter', (scope, size) => page(database, scope, {}, idOf(size - 9_990 + 1))],
    [
      'far page by cursor, two pairs',
      (scope, size) => page(database, scope, { size: 's4', color: 'c3' }, idOf(Math.floor(size / 2))),
    ],
  ];
  for (const [what, run] of cases) {
    const speeds: number[][] = sizes.map(() => []);
    for (const scope of scopes)
      await Promise.all(Array.from({ length: 40 }, () => run(scope, sizes[scopes.indexOf(scope)] ?? 1)));
    for (let round = 0; round < rounds; round++) {
      for (const [index, scope] of scopes.entries())
        speeds[index]?.push(await speedOf(() => run(scope, sizes[index] ?? 1)));
    }
    const medians = speeds.map(median);
    const ratios = medians.map((speed) => (speed / (medians[0] ?? 1)).toFixed(2));
    console.log(
      what.padEnd(44),
      sizes.map((size, index) => `${size}: ${Math.round(medians[index] ?? 0)}/s (${ratios[index]})`).join('  '),
    );
  }
} finally {
  await place.drop();
  await teardown();
}

function idOf(number: number): string {
  return `fprice_${String(number).padStart(26, '0')}`;
}

function page(database: Database, scope: Scope, metadata: Record<string, string>, startingAfter?: string) {
  const request = { limit: 10, offset: 0, startingAfter, endingBefore: undefined };
  return listPrices(database, scope, request, { active: true, productId: undefined, lookupKeys: [], metadata });
}

async function speedOf(run: () => Promise<unknown>): Promise<number> {
  let left = pagesARound;
  const started = performance.now();
  const worker = async () => {
    while (left-- > 0 && performance.now() - started < 2_000) await run();
  };
  await Promise.all(Array.from({ length: 4 }, worker));
  return ((pagesARound - Math.max(left, 0)) / (performance.now() - started)) * 1_000;
}

function median(values: number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}

async function fill(account: string, size: number): Promise<void> {
  const insert = `set search_path = catalog;
    insert into products (account_id, test_mode, product_id, name, created_at, updated_at)
    select '${account}', true, 'fprod_' || lpad(n::text, 26, '0'), 'Product ' || n, now(), now() from generate_series(0, 999) n;
    insert into prices (account_id, test_mode, price_id, product_id, product_active, product_eligibility_key, unit_amount_cents, lookup_key,
      metadata, created_at, updated_at)
    select '${account}', true, 'fprice_' || lpad(n::text, 26, '0'), 'fprod_' || lpad((n % 1000)::text, 26, '0'), true, '', n % 10000,
      'sku-' || n, jsonb_build_object('size', 's' || n % 10, 'color', 'c' || n % 7, 'sku', 'k' || n, 'shop', 'one',
      'parity', case n % 2 when 0 then 'even' else 'odd' end), now(), now()
    from generate_series(1, ${size}) n;
    reset search_path`;
  await place.admin(insert);
}
