import type { Db } from './db.ts';
import { cursorOf, listQuery, type Page, type PageSource, readWithCursor } from './page-query.ts';
import type { Scope } from './scope.ts';

/** Reads one page by keyset, newest first, and whether there are more rows in its direction. An unknown cursor is a 422 at its place. */
export async function readPage<Row extends object>(
  db: Db,
  scope: Scope,
  source: PageSource,
  page: Page,
): Promise<{ rows: Row[]; hasMore: boolean }> {
  const cursor = cursorOf(page);
  const id = `${source.table}.${source.id}`;
  const backwards = cursor?.name === 'ending_before';
  const query = listQuery(scope, source).orderBy(id, backwards ? 'asc' : 'desc');
  if (cursor !== undefined) query.where(id, backwards ? '>' : '<', cursor.id);
  if (page.offset !== undefined && page.offset > 0) query.offset(page.offset);
  const found = await readWithCursor<Row>(db, scope, source, cursor, query, page.limit + 1);
  const hasMore = found.length > page.limit;
  const rows = hasMore ? found.slice(0, page.limit) : found;
  return { rows: backwards ? rows.reverse() : rows, hasMore };
}
