import {
  type Db,
  type Page,
  type PageSource,
  readPage,
  type Scope,
  scopedTable,
  sqlBuilder,
  streamPage,
} from '@eligo/postgres';
import { type CreatedFilter, createdRange, isAmong, type SessionIds, sessionIdsOf } from '../domain/created-range.ts';
import type { Session } from '../domain/session.ts';
import { type SessionRow, sessionColumns, sessionOfRow } from './sessions.ts';
import { mostOutOfTime, sessionsOutOfTime } from './sessions-out-of-time.ts';

/** What a list of sessions is narrowed to. */
export interface SessionFilter extends CreatedFilter {
  readonly status?: string | undefined;
  readonly mode?: string | undefined;
  readonly customerId?: string | undefined;
  readonly customerEmail?: string | undefined;
  readonly subscriptionId?: string | undefined;
  readonly clientReferenceId?: string | undefined;
  readonly paymentIntentId?: string | undefined;
  readonly sellingPlan?: string | undefined;
  readonly disputed?: boolean | undefined;
}

// Rows that are held at once while a list of any length is read.
const CHUNK_ROWS = 200;
const chunks = { chunkRows: CHUNK_ROWS };

/**
 * The sessions of a page, newest first, however long it is, and then whether there are more in its direction. Memory holds one chunk of rows,
 * not the page (decisions 3).
 */
export async function* streamSessions(
  db: Db,
  scope: Scope,
  page: Page,
  filter: SessionFilter,
): AsyncGenerator<Session, boolean> {
  const range = filter.paymentIntentId === undefined ? createdRange(filter) : undefined;
  const outOfTime = range && (await sessionsOutOfTime(db, scope, range));
  if (range === undefined || outOfTime === undefined) {
    return yield* streamFrom(db, scope, page, sourceOf(scope, filter));
  }
  const ids = sessionIdsOf(range);
  const inTime = sourceOf(scope, filter, ids);
  const others = outOfTime.filter((id) => !isAmong(ids, id));
  if (others.length === 0) return yield* streamFrom(db, scope, page, inTime);
  const elsewhere = sourceOf(scope, filter, others);
  if (page.endingBefore === undefined) return yield* streamMerged(db, scope, page, inTime, elsewhere);
  const most = page.limit + (page.offset ?? 0);
  // A longer page before a cursor begins far from it, where no chunk has been read. It passes over the sessions of other times.
  if (most > CHUNK_ROWS) return yield* streamFrom(db, scope, page, sourceOf(scope, filter));
  const { rows, hasMore } = await readBefore(db, scope, page, most, [inTime, elsewhere]);
  for (const row of rows) yield sessionOfRow(row);
  return hasMore;
}

// The page of two sources that have no row in common. Those of the second one are few.
async function* streamMerged(
  db: Db,
  scope: Scope,
  { limit, offset = 0, startingAfter }: Page,
  many: PageSource,
  few: PageSource,
): AsyncGenerator<Session, boolean> {
  const most = offset + limit;
  const those = { limit: Math.min(mostOutOfTime, most + 1), startingAfter };
  const { rows: rest } = await readPage<SessionRow>(db, scope, few, those);
  let count = 0;
  for await (const chunk of streamPage<SessionRow>(db, scope, many, { limit: most + 1, startingAfter }, chunks)) {
    const last = chunk.at(-1)?.id ?? '';
    const newer = rest.filter(({ id }) => id > last);
    rest.splice(0, newer.length);
    for (const row of newestFirst([...chunk, ...newer])) {
      count += 1;
      if (count > most) return true;
      if (count > offset) yield sessionOfRow(row);
    }
  }
  for (const row of rest) {
    count += 1;
    if (count > most) return true;
    if (count > offset) yield sessionOfRow(row);
  }
  return false;
}

// The same before a cursor: the rows next to it, of which `offset` are passed over.
async function readBefore(
  db: Db,
  scope: Scope,
  { offset = 0, endingBefore }: Page,
  most: number,
  sources: readonly PageSource[],
): Promise<{ rows: SessionRow[]; hasMore: boolean }> {
  const page = { limit: most, endingBefore };
  const pages = await Promise.all(sources.map((source) => readPage<SessionRow>(db, scope, source, page)));
  const rows = newestFirst(pages.flatMap((one) => one.rows));
  return {
    rows: rows.slice(-most).slice(0, Math.max(0, Math.min(rows.length, most) - offset)),
    hasMore: rows.length > most || pages.some((one) => one.hasMore),
  };
}

function newestFirst(rows: readonly SessionRow[]): SessionRow[] {
  return rows.toSorted((a, b) => (a.id < b.id ? 1 : -1));
}

async function* streamFrom(db: Db, scope: Scope, page: Page, source: PageSource): AsyncGenerator<Session, boolean> {
  if (page.limit <= CHUNK_ROWS) {
    const { rows, hasMore } = await readPage<SessionRow>(db, scope, source, page);
    for (const row of rows) yield sessionOfRow(row);
    return hasMore;
  }
  let count = 0;
  let first: string | undefined;
  let last: string | undefined;
  for await (const rows of streamPage<SessionRow>(db, scope, source, page, chunks)) {
    first ??= rows[0]?.id;
    last = rows.at(-1)?.id;
    count += rows.length;
    for (const row of rows) yield sessionOfRow(row);
  }
  if (count < page.limit) return false;
  const next = page.endingBefore === undefined ? { startingAfter: last } : { endingBefore: first };
  const beyond = await readPage(
    db,
    scope,
    { ...source, columns: [sqlBuilder.raw('sessions.id')] },
    { limit: 1, ...next },
  );
  return beyond.rows.length > 0;
}

const sessions = { table: 'checkout.sessions', id: 'id' };
const columns = [sqlBuilder.raw(sessionColumns('sessions'))];

/** In which ids all sessions are that a list reads: in a range of them, or these. */
type Among = SessionIds | readonly string[];

// The sessions of a selling plan are read from its own table, in the order of their ids, each then looked up: a join of the two tables reads the whole
// account for a plan that few sessions have.
function sourceOf(scope: Scope, filter: SessionFilter, among?: Among): PageSource {
  const { sellingPlan } = filter;
  const narrow = filterBy(scope, filter, among !== undefined);
  if (sellingPlan === undefined) {
    const narrowed = (query: Query) => narrow(queryAmong(query, 'sessions.id', among));
    return { ...sessions, columns, filter: narrowed };
  }
  return {
    ...{ table: 'checkout.session_selling_plans', id: 'session_id', records: sessions, columns },
    filter: (query) => {
      query.where('checkout.session_selling_plans.selling_plan_id', sellingPlan).joinRaw(lookUpSession);
      narrow(queryAmong(query, 'checkout.session_selling_plans.session_id', among));
    },
  };
}

type Query = ReturnType<typeof sqlBuilder>;

function queryAmong(query: Query, id: string, among: Among | undefined): Query {
  if (among === undefined) return query;
  if ('first' in among) {
    if (among.first !== undefined) query.where(id, '>=', among.first);
    if (among.end !== undefined) query.where(id, '<', among.end);
    return query;
  }
  return query.whereRaw('?? = any(?::text[])', [id, [...among]]);
}

const lookUpSession = `cross join lateral (
  select * from checkout.sessions s where s.account_id = session_selling_plans.account_id
    and s.test_mode = session_selling_plans.test_mode and s.id = session_selling_plans.session_id offset 0) sessions`;

function filterBy(scope: Scope, filter: SessionFilter, isFoundById: boolean) {
  return (query: Query): void => {
    const equal: [string, string | undefined][] = [
      ['status', filter.status],
      ['mode', filter.mode],
      ['customer_id', filter.customerId],
      ['customer_email', filter.customerEmail],
      ['subscription_id', filter.subscriptionId],
      ['client_reference_id', filter.clientReferenceId],
    ];
    for (const [column, value] of equal) if (value !== undefined) query.where(`sessions.${column}`, value);
    const times: [string, Date | undefined][] = [
      ['>', filter.createdAfter],
      ['>=', filter.createdAtOrAfter],
      ['<', filter.createdBefore],
      ['<=', filter.createdAtOrBefore],
    ];
    for (const [side, time] of times) {
      if (time === undefined) continue;
      // No index serves the test of a truth value. That of the times would have all sessions of a year sorted for the newest ten of them.
      if (isFoundById) query.whereRaw(`(sessions.created_at ${side} ?) is true`, [time]);
      else query.where('sessions.created_at', side, time);
    }
    if (filter.disputed !== undefined) {
      query.whereRaw(filter.disputed ? "sessions.dispute_ids <> '{}'" : "sessions.dispute_ids = '{}'");
    }
    if (filter.paymentIntentId !== undefined) {
      // One intent has one session: compared as a value, it is looked up first.
      query.where('sessions.id', '=', sessionOfIntent(scope, filter.paymentIntentId));
    }
  };
}

function sessionOfIntent(scope: Scope, intentId: string) {
  return scopedTable(scope, 'checkout.payment_intents').select('session_id').where('id', intentId);
}
