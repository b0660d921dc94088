import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  type Database,
  type Page,
  type PageSource,
  pageOf,
  readPage,
  scoped,
  streamPage,
  unscoped,
  withTx,
} from '../src/index.ts';
import { type TestDatabase, testDatabase } from './support.ts';

const scope = { accountId: 'facct_a', testMode: true };
const insert = scoped(
  'p.insert',
  'insert into things (account_id, test_mode, thing_id, amount) values ($1, $2, $3, $4)',
);
const plansOfBuilt = unscoped<{ custom_plans: bigint }>(
  'p.plans',
  `select custom_plans from pg_prepared_statements where name like 'built%'`,
);
const source: PageSource = { table: 'things', id: 'thing_id', columns: ['thing_id'] };
const ids = Array.from({ length: 30 }, (_, i) => `t${String(i).padStart(2, '0')}`);
const newestFirst = ids.toReversed();

let on: TestDatabase;
let database: Database;

beforeAll(async () => {
  on = await testDatabase();
  database = on.open();
  await withTx(database, scope, (tx) => Promise.all(ids.map((id, i) => tx.execute(insert, scope, [id, i]))));
  const other = { accountId: 'facct_b', testMode: true };
  await withTx(database, other, (tx) => tx.execute(insert, other, ['t15x', 1]));
});
afterAll(() => on.drop());

const idsOf = (rows: { thing_id: string }[]) => rows.map(({ thing_id }) => thing_id);

/** What a page is, said with arrays. */
function expected({ limit, offset = 0, startingAfter, endingBefore }: Page): { ids: string[]; hasMore: boolean } {
  if (endingBefore !== undefined) {
    const before = newestFirst.slice(0, newestFirst.indexOf(endingBefore)).toReversed().slice(offset);
    return { ids: before.slice(0, limit).toReversed(), hasMore: before.length > limit };
  }
  const after = newestFirst
    .slice(startingAfter === undefined ? 0 : newestFirst.indexOf(startingAfter) + 1)
    .slice(offset);
  return { ids: after.slice(0, limit), hasMore: after.length > limit };
}

const page = fc
  .record({
    limit: fc.integer({ min: 1, max: 40 }),
    offset: fc.option(fc.integer({ min: 0, max: 35 }), { nil: undefined }),
    cursor: fc.option(fc.record({ id: fc.constantFrom(...ids), before: fc.boolean() }), { nil: undefined }),
  })
  .map(
    ({ limit, offset, cursor }): Page => ({
      limit,
      offset,
      ...(cursor === undefined ? {} : cursor.before ? { endingBefore: cursor.id } : { startingAfter: cursor.id }),
    }),
  );

describe('a page', () => {
  test('is the rows next to its cursor, newest first, and says whether there are more [GEN-12, D3.2]', async () => {
    await fc.assert(
      fc.asyncProperty(page, async (wanted) => {
        const { rows, hasMore } = await readPage<{ thing_id: string }>(database, scope, source, wanted);
        expect({ ids: idsOf(rows), hasMore }).toEqual(expected(wanted));
      }),
      { numRuns: 200 },
    );
  });

  test('that is streamed is the same page', async () => {
    const short = { chunkRows: 4, stepRows: 3 };
    await fc.assert(
      fc.asyncProperty(page, async (wanted) => {
        const streamed: string[] = [];
        for await (const rows of streamPage<{ thing_id: string }>(database, scope, source, wanted, short)) {
          expect(rows.length).toBeLessThanOrEqual(4);
          streamed.push(...idsOf(rows));
        }
        expect(streamed).toEqual(expected(wanted).ids);
      }),
      { numRuns: 200 },
    );
  });

  test('of the largest limit there is holds everything', async () => {
    for (const wanted of [
      { limit: Number.MAX_SAFE_INTEGER },
      { limit: Number.MAX_SAFE_INTEGER, endingBefore: 't03' },
    ]) {
      const streamed: string[] = [];
      for await (const rows of streamPage<{ thing_id: string }>(database, scope, source, wanted))
        streamed.push(...idsOf(rows));
      expect(streamed).toEqual(expected(wanted).ids);
    }
  });

  test('that is streamed passes over ten thousand rows at most in a statement, however large its limit is', async () => {
    const passed: unknown[] = [];
    const watched: Pick<Database, 'query'> = {
      query: (asked, builder) => {
        passed.push(...builder.toSQL().bindings.filter((value) => typeof value === 'number'));
        return database.query(asked, builder);
      },
    };
    const wanted: Page = { limit: 2 ** 52, endingBefore: 't03' };
    const streamed: string[] = [];
    for await (const rows of streamPage<{ thing_id: string }>(watched as Database, scope, source, wanted))
      streamed.push(...idsOf(rows));
    expect(streamed).toEqual(expected(wanted).ids);
    expect(passed).toContain(9_999);
    expect(Math.max(...passed.map(Number))).toBeLessThanOrEqual(10_000);
  });

  test('is filtered', async () => {
    const filtered: PageSource = { ...source, filter: (query) => void query.where('things.amount', '<', 3) };
    const { rows, hasMore } = await readPage<{ thing_id: string }>(database, scope, filtered, {
      limit: 2,
      startingAfter: 't20',
    });
    expect([idsOf(rows), hasMore]).toEqual([['t02', 't01'], true]);
  });

  test.each(['starting_after', 'ending_before'] as const)(
    'with %s of nobody, or of another account, is a 422 at its place [GEN-12, D3.2]',
    async (name) => {
      for (const id of ['nobody', 't15x', '']) {
        const wanted: Page = {
          limit: 3,
          ...(name === 'starting_after' ? { startingAfter: id } : { endingBefore: id }),
        };
        const violation = { violations: [{ loc: ['query', name], type: 'cursor_not_found' }] };
        await expect(readPage(database, scope, source, wanted)).rejects.toMatchObject(violation);
        await expect(streamPage(database, scope, source, wanted).next()).rejects.toMatchObject(violation);
      }
    },
  );

  test('with both cursors is a 422 [GEN-12, D3.2]', async () => {
    const both = { limit: 3, startingAfter: 't01', endingBefore: 't03' };
    await expect(readPage(database, scope, source, both)).rejects.toMatchObject({ status: 422 });
  });
});

test('a request that names no limit asks for ten, and any other for what can be counted exactly', () => {
  const none = { offset: 0, startingAfter: undefined, endingBefore: undefined };
  expect(pageOf(undefined)).toEqual({ limit: 10, ...none });
  expect(pageOf({ limit: 0n, offset: 0 })).toEqual({ limit: 10, ...none });
  const asked = { limit: 9_007_199_254_740_991n, offset: 7, endingBefore: 't05' };
  expect(pageOf(asked)).toEqual({ limit: 2 ** 52, offset: 7, startingAfter: undefined, endingBefore: 't05' });
});

test('a page of a large account is read by a plan that is made once, not by each read', async () => {
  const large = { accountId: 'facct_large', testMode: true };
  await on.admin(
    `insert into alpha.things (account_id, test_mode, thing_id, amount)
     select 'facct_large', true, 'l' || lpad(n::text, 6, '0'), n from generate_series(1, 20000) n`,
  );
  await on.admin('analyze alpha.things');
  // One connection, whose prepared statements say how they were planned.
  const one = on.open(undefined, { max: 1 });
  const pages: Page[] = [{ limit: 10 }, { limit: 100 }, { limit: 10, startingAfter: 'l010000' }];
  for (let times = 0; times < 20; times += 1) {
    for (const wanted of pages) await readPage(one, large, source, wanted);
    for await (const rows of streamPage(one, large, source, { limit: 300 })) expect(rows).toHaveLength(300);
  }
  const plans = await one.rows(plansOfBuilt, null);
  expect(plans.map(({ custom_plans }) => Number(custom_plans))).toEqual([5, 5, 5]);
  await one.close();
});
