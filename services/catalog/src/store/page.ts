import { Failure } from '@eligo/failures';
import { type Db, type Scope, type ScopedStatement, scoped } from '@eligo/postgres';

/** Which part of a list is asked for. At most one cursor is set. */
export interface PageRequest {
  readonly limit: number;
  readonly offset: number;
  readonly startingAfter: string | undefined;
  readonly endingBefore: string | undefined;
}

/** A part of a list, newest first. */
export interface Page<Row> {
  readonly rows: Row[];
  readonly hasMore: boolean;
}

/** A list query of one shape. `$1` and `$2` are the scope, `$3` the limit, `$4` the offset, `$5` the cursor if there is one. */
export interface ListShape {
  /** Names the shape: equal names mean equal texts. */
  readonly name: string;
  readonly table: string;
  readonly id: string;
  readonly columns: string;
  /** The rows of the page before they are ordered, without a cursor: `from … where …`; columns of the table are `r.`. */
  readonly from: string;
  /** What the ids are ordered by, `r.<id>` unless an index of another table leads. */
  readonly orderBy?: string;
  readonly values: readonly unknown[];
}

/** How many of a list's values come before those of its filters. */
export const valuesBeforeFilters = 5;

/**
 * One page by keyset on the id. A cursor that is not one of the caller's own records is refused at its parameter (decisions 3); the same
 * statement finds that out, so a page costs one round trip.
 */
export async function readPage<Row extends object>(
  db: Db,
  scope: Scope,
  request: PageRequest,
  shape: ListShape,
): Promise<Page<Row>> {
  const direction =
    request.startingAfter !== undefined ? 'after' : request.endingBefore !== undefined ? 'before' : 'first';
  const cursor = request.startingAfter ?? request.endingBefore ?? '';
  const statement = statementOf<Row & { cursorKnown: boolean }>(shape, direction);
  const rows = await db.rows(statement, scope, [request.limit + 1, request.offset, cursor, ...shape.values]);
  const isKnown = rows[0]?.cursorKnown ?? (direction === 'first' || (await exists(db, scope, shape, cursor)));
  if (!isKnown) {
    const parameter = direction === 'after' ? 'starting_after' : 'ending_before';
    throw Failure.invalid(['query', parameter], 'cursor_not_found', 'names no record of this list');
  }
  const hasMore = rows.length > request.limit;
  const page = hasMore ? rows.slice(0, request.limit) : rows;
  return { rows: direction === 'before' ? page.reverse() : page, hasMore };
}

const statements = new Map<string, ScopedStatement<unknown>>();

function statementOf<Row>(shape: ListShape, direction: 'first' | 'after' | 'before'): ScopedStatement<Row> {
  const name = `${shape.name}.${direction}`;
  const known = statements.get(name);
  if (known !== undefined) return known as ScopedStatement<Row>;
  const statement = scoped<Row>(name, textOf(shape, direction));
  statements.set(name, statement as ScopedStatement<unknown>);
  return statement;
}

function textOf({ table, id, columns, from, orderBy = `r.${id}` }: ListShape, direction: string): string {
  const order = direction === 'before' ? 'asc' : 'desc';
  const beyond =
    direction === 'first' ? '($5::text is not null)' : `(${orderBy} ${direction === 'after' ? '<' : '>'} $5)`;
  const known =
    direction === 'first'
      ? 'true'
      : `exists (select from ${table} c where c.account_id = $1 and c.test_mode = $2 and c.${id} = $5)`;
  return `select ${columns}, ${known} as "cursorKnown" from (
    select ${orderBy} as page_id ${from} and ${beyond} order by ${orderBy} ${order} limit $3 offset $4) page
    join ${table} r on r.account_id = $1 and r.test_mode = $2 and r.${id} = page.page_id
    order by page.page_id ${order}`;
}

async function exists(db: Db, scope: Scope, { table, id }: ListShape, cursor: string): Promise<boolean> {
  const name = `${table}.exists`;
  const statement =
    statements.get(name) ??
    scoped<unknown>(name, `select true as known from ${table} where account_id = $1 and test_mode = $2 and ${id} = $3`);
  statements.set(name, statement);
  return (await db.row(statement, scope, [cursor])) !== undefined;
}
