import { Failure } from '@eligo/failures';
import { type Db, type Scope, type ScopedStatement, scoped } from '@eligo/postgres';
import { type Cut, cutOf, type Direction } from './page-cut.ts';
import { cutShortText, type Sieve } from './sieved-page.ts';

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
  /** The select list, of the table as `r`. */
  readonly columns: string;
  /** What a row of the list fulfils, as conditions on the table as `r`; or the select that finds the page's ids in order. */
  readonly where: string | ((cut: Cut) => string);
  /** Set where `where` is made of it (`sievedIds`). */
  readonly sieve?: Sieve;
  /** A cheaper select of the same ids that may find too few; asked first, and enough when it fills the page. */
  readonly firstLook?: (cut: Cut) => string;
  /** The values of `$6…`. */
  readonly values: readonly unknown[];
}

/** How many of a list's values come before those of its filters. */
export const valuesBeforeFilters = 5;

/**
 * One page by keyset on the id. A cursor that is not one of the caller's own records is refused at its parameter (decisions 3); the same
 * statement finds that out, so a page costs one round trip, or two where the first look does not fill it.
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
  const values = [request.limit + 1, request.offset, cursor, ...shape.values];
  const read = (where: ListShape['where'], name: string) =>
    db.rows(statementOf<Found<Row>>({ ...shape, where, name }, direction, request.offset > 0), scope, values);
  const looked =
    shape.firstLook === undefined || request.offset > 0 ? [] : await read(shape.firstLook, `${shape.name}.look`);
  const found = looked.length > request.limit ? looked : await read(shape.where, shape.name);
  const rows = found.filter(({ isNone }) => isNone !== true);
  const isCutShort = found[0]?.isCutShort === true;
  if (isCutShort && rows.length < request.limit) throw new Failure('service_unavailable', { retryAfterSeconds: 1 });
  const isKnown = found[0]?.cursorKnown ?? (direction === 'first' || (await exists(db, scope, shape, cursor)));
  if (!isKnown) {
    const parameter = direction === 'after' ? 'starting_after' : 'ending_before';
    throw Failure.invalid(['query', parameter], 'cursor_not_found', 'No such record in this list');
  }
  const page = rows.slice(0, request.limit);
  return { rows: direction === 'before' ? page.reverse() : page, hasMore: rows.length > page.length || isCutShort };
}

/** A row of the page. A list with a sieve has one also where the page is empty (`isNone`), and says in each whether the page was cut short. */
type Found<Row> = Row & { readonly cursorKnown: boolean; readonly isNone?: boolean; readonly isCutShort?: boolean };

const statements = new Map<string, ScopedStatement<unknown>>();

function statementOf<Row>(shape: ListShape, direction: Direction, isSkipping: boolean): ScopedStatement<Row> {
  const name = `${shape.name}.${direction}${isSkipping ? '.skip' : ''}`;
  const known = statements.get(name);
  if (known !== undefined) return known as ScopedStatement<Row>;
  const statement = scoped<Row>(name, textOf(shape, direction, isSkipping));
  statements.set(name, statement as ScopedStatement<unknown>);
  return statement;
}

// A limit that is a parameter is planned as a tenth of the table, and sorted or hashed accordingly. So the inner limit is written out, as
// the most that can be asked for; the outer one stops it after what is. The rows are then looked up by their ids.
function textOf({ table, id, columns, where, sieve }: ListShape, direction: Direction, isSkipping: boolean): string {
  const cut = cutOf(direction, isSkipping);
  const ids =
    typeof where === 'function'
      ? where(cut)
      : `select page.id from (select r.${id} as id from ${table} r where r.account_id = $1 and r.test_mode = $2 and ${where}
          and ${cut.beyond(`r.${id}`)} order by r.${id} ${cut.order} limit ${cut.most}) page limit $3 offset $4`;
  const known =
    direction === 'first'
      ? 'true'
      : `exists (select from ${table} c where c.account_id = $1 and c.test_mode = $2 and c.${id} = $5)`;
  const isOfPage = (page: string) => `r.account_id = $1 and r.test_mode = $2 and r.${id} = any(array(${page}))`;
  if (sieve === undefined) {
    return `select ${columns}, ${known} as "cursorKnown" from ${table} r where ${isOfPage(ids)} order by r.${id} ${cut.order}`;
  }
  return `with page as materialized (${ids})
    select ${columns}, ${known} as "cursorKnown", r.${id} is null as "isNone", ${cutShortText(sieve, cut)} as "isCutShort"
    from (select) page_or_none left join ${table} r on ${isOfPage('select page.id from page')} order by r.${id} ${cut.order}`;
}

async function exists(db: Db, scope: Scope, { table, id }: ListShape, cursor: string): Promise<boolean> {
  const name = `${table}.exists`;
  const statement =
    statements.get(name) ??
    scoped<unknown>(name, `select true as known from ${table} where account_id = $1 and test_mode = $2 and ${id} = $3`);
  statements.set(name, statement);
  return (await db.row(statement, scope, [cursor])) !== undefined;
}
