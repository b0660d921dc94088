import type { Knex } from 'knex';
import { sqlBuilder } from './builder.ts';
import type { Db } from './db.ts';
import { type Cursor, cursorOf, firstOf, listQuery, type Page, type PageSource, readWithCursor } from './page-query.ts';
import type { Scope } from './scope.ts';

/**
 * A page however long it is, newest first, in chunks: memory stays flat (decisions 3, the sessions' `limit`). No statement passes over more than
 * `stepRows` rows.
 */
export async function* streamPage<Row extends object>(
  db: Db,
  scope: Scope,
  source: PageSource,
  page: Page,
  { chunkRows = 500, stepRows = 10_000 }: { chunkRows?: number; stepRows?: number } = {},
): AsyncGenerator<Row[]> {
  const bounds = await boundsOf(db, scope, source, page, stepRows);
  if (bounds === undefined) return;
  const id = `${source.table}.${source.id}`;
  let below = bounds.below;
  let offset = bounds.offset;
  for (let left = page.limit; left > 0; ) {
    const take = Math.min(left, chunkRows);
    const query = listQuery(scope, source).select(`${id} as page_id`).orderBy(id, 'desc');
    if (below !== undefined) query.where(id, '<', below);
    if (bounds.above !== undefined) query.where(id, '>', bounds.above);
    if (bounds.newest !== undefined) query.where(id, '<=', bounds.newest);
    if (offset > 0) query.offset(offset);
    const rows = await db.query<Row & { page_id: string }>(scope, firstOf(query, take));
    if (rows.length > 0) yield rows.map(({ page_id: _, ...row }) => row as unknown as Row);
    if (rows.length < take) return;
    left -= rows.length;
    offset = 0;
    below = rows.at(-1)?.page_id;
  }
}

interface Bounds {
  readonly below: string | undefined;
  readonly above: string | undefined;
  readonly newest: string | undefined;
  readonly offset: number;
}

// A page before a cursor holds the rows next to it, yet begins with the newest of them: where that is, is found first.
async function boundsOf(
  db: Db,
  scope: Scope,
  source: PageSource,
  page: Page,
  stepRows: number,
): Promise<Bounds | undefined> {
  const cursor = cursorOf(page);
  const offset = page.offset ?? 0;
  if (cursor?.name !== 'ending_before') {
    if (cursor !== undefined) await readWithCursor(db, scope, source, cursor, nth(scope, source, cursor.id, '<=', 0));
    return { below: cursor?.id, above: undefined, newest: undefined, offset };
  }
  const above = await idAfter(db, scope, source, cursor, cursor.id, offset, stepRows);
  if (above === undefined) return undefined;
  const newest = await idAfter(db, scope, source, cursor, above, page.limit, stepRows);
  return { below: undefined, above, newest, offset: 0 };
}

// The id of the row that is so many places newer, found in steps; undefined if there are fewer. Whether the cursor is known is asked with the first step.
async function idAfter(
  db: Db,
  scope: Scope,
  source: PageSource,
  cursor: Cursor,
  from: string,
  places: number,
  stepRows: number,
): Promise<string | undefined> {
  let id: string | undefined = from;
  for (let left = places; left > 0 && id !== undefined; left -= stepRows) {
    const query = nth(scope, source, id, '>', Math.min(left, stepRows) - 1);
    const isFirst = id === cursor.id;
    const rows: { id: string }[] = isFirst
      ? await readWithCursor<{ id: string }>(db, scope, source, cursor, query)
      : await db.query<{ id: string }>(scope, query);
    id = rows[0]?.id;
  }
  return id;
}

function nth(scope: Scope, source: PageSource, cursor: string, side: '<=' | '>', position: number): Knex.QueryBuilder {
  const id = `${source.table}.${source.id}`;
  const beyond = listQuery(scope, { ...source, columns: [sqlBuilder.raw('?? as id', [id])] })
    .where(id, side, cursor)
    .orderBy(id, side === '>' ? 'asc' : 'desc');
  return firstOf(beyond, position + 1)
    .limit(1)
    .offset(position);
}
