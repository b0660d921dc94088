import { Failure } from '@eligo/failures';
import type { Knex } from 'knex';
import { scopedTable, sqlBuilder } from './builder.ts';
import type { Db } from './db.ts';
import type { Scope } from './scope.ts';

/** Which part of a list is asked for: newest first, at most one cursor, `offset` with or without it (decisions 3). */
export interface Page {
  readonly limit: number;
  readonly offset?: number | undefined;
  readonly startingAfter?: string | undefined;
  readonly endingBefore?: string | undefined;
}

/** The page of a request, as the message `eligo.paging.v1.Page` carries it: 0 is a limit that was left out. */
export interface AskedPage {
  readonly limit: bigint;
  readonly offset: number;
  readonly startingAfter?: string | undefined;
  readonly endingBefore?: string | undefined;
}

/** The page that a request asks for; ten of the newest when it names none. */
export function pageOf(asked: AskedPage | undefined): Page {
  return {
    limit: asked === undefined || asked.limit <= 0n ? usualLimit : Math.min(Number(asked.limit), longestLimit),
    offset: asked?.offset ?? 0,
    startingAfter: asked?.startingAfter,
    endingBefore: asked?.endingBefore,
  };
}

const usualLimit = 10;
// Sessions may be asked for by 2^53 - 1 (interface); kept lower, so that adding an offset stays exact.
const longestLimit = 2 ** 52;

/** What a list reads. */
export interface PageSource {
  /** The table whose identifiers are the cursor. */
  readonly table: string;
  /** The identifier's column; with (account_id, test_mode) before it, it has an index. */
  readonly id: string;
  /** The columns, each by its name: a prepared `select *` fails once a deploy has added a column. */
  readonly columns: readonly (string | Knex.Raw)[];
  /** Where a cursor is looked for, if not in `table`: a list that is read by an index of its own names records of another table. */
  readonly records?: { readonly table: string; readonly id: string };
  /** Adds the list's filters and joins. */
  readonly filter?: (query: Knex.QueryBuilder) => void;
}

/** A cursor and the parameter that it came in. */
export interface Cursor {
  readonly name: 'starting_after' | 'ending_before';
  readonly id: string;
}

/** The page's cursor; both at once are a 422. */
export function cursorOf(page: Page): Cursor | undefined {
  if (page.startingAfter !== undefined && page.endingBefore !== undefined) {
    throw Failure.invalid(
      ['query', 'ending_before'],
      'cursor_conflict',
      'Send either starting_after or ending_before, not both',
    );
  }
  if (page.startingAfter !== undefined) return { name: 'starting_after', id: page.startingAfter };
  return page.endingBefore === undefined ? undefined : { name: 'ending_before', id: page.endingBefore };
}

/** A select of the list's rows, filtered, in no order yet. */
export function listQuery(scope: Scope, { table, columns, filter }: PageSource): Knex.QueryBuilder {
  const query = scopedTable(scope, table).select(...columns);
  filter?.(query);
  return query;
}

/**
 * The first rows of a query, at most so many. The server plans a parameter as a tenth of the table, and then, in a large account, plans each read anew (ADR 3). So
 * the query ends at a literal, and the parameter cuts behind it: pages of all usual lengths share a statement, whose plan is made once.
 */
export function firstOf(query: Knex.QueryBuilder, most: number): Knex.QueryBuilder {
  const bound = most <= longestUsual ? longestUsual : 10 ** Math.ceil(Math.log10(most));
  return sqlBuilder
    .select('*')
    .from(query.limit(bound, { skipBinding: true }).as('page'))
    .limit(most);
}

// The longest page of the lists, and the row that says that there are more.
const longestUsual = 101;

/**
 * Runs the query, or its first rows, and refuses a cursor that is no row of this account and mode. That is asked in the same round trip; only an empty answer
 * needs a second one.
 */
export async function readWithCursor<Row extends object>(
  db: Db,
  scope: Scope,
  source: PageSource,
  cursor: Cursor | undefined,
  query: Knex.QueryBuilder,
  most?: number,
): Promise<Row[]> {
  const cut = (whole: Knex.QueryBuilder) => (most === undefined ? whole : firstOf(whole, most));
  if (cursor === undefined) return db.query<Row>(scope, cut(query));
  const records = source.records ?? source;
  const known = scopedTable(scope, records.table)
    .where(`${records.table}.${records.id}`, cursor.id)
    .select(sqlBuilder.raw('1'));
  const rows = await db.query<Row & { cursor_is_known: boolean }>(
    scope,
    cut(query.select(sqlBuilder.raw('exists (?) as cursor_is_known', [known]))),
  );
  const isKnown = rows[0]?.cursor_is_known ?? (await db.query(scope, known)).length > 0;
  if (!isKnown) throw Failure.invalid(['query', cursor.name], 'cursor_not_found', 'No such record in this list');
  return rows.map(({ cursor_is_known: _, ...row }) => row as unknown as Row);
}
