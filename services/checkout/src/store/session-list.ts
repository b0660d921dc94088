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
import type { Session } from '../domain/session.ts';
import { type SessionRow, sessionColumns, sessionOfRow } from './sessions.ts';

/** What a list of sessions is narrowed to; times are inclusive where their names say so. */
export interface SessionFilter {
  readonly status?: string | undefined;
  readonly mode?: string | undefined;
  readonly customerId?: string | undefined;
  readonly customerEmail?: string | undefined;
  readonly subscriptionId?: string | undefined;
  readonly clientReferenceId?: string | undefined;
  readonly paymentIntentId?: string | undefined;
  readonly sellingPlan?: string | undefined;
  readonly disputed?: boolean | undefined;
  readonly createdAfter?: Date | undefined;
  readonly createdAtOrAfter?: Date | undefined;
  readonly createdBefore?: Date | undefined;
  readonly createdAtOrBefore?: Date | undefined;
}

// Rows that are held at once while a list of any length is read.
const CHUNK_ROWS = 200;

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
  const source = { ...sourceOf(scope, filter), columns: [sqlBuilder.raw(sessionColumns('sessions'))] };
  if (page.limit <= CHUNK_ROWS) {
    const { rows, hasMore } = await readPage<SessionRow>(db, scope, source, page);
    for (const row of rows) yield sessionOfRow(row);
    return hasMore;
  }
  let count = 0;
  let first: string | undefined;
  let last: string | undefined;
  for await (const rows of streamPage<SessionRow>(db, scope, source, page, CHUNK_ROWS)) {
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

// The sessions of a selling plan are read from its own table, in the order of their ids, each then looked up: a join of the two tables reads the whole
// account for a plan that few sessions have.
function sourceOf(scope: Scope, filter: SessionFilter): Omit<PageSource, 'columns'> {
  const { sellingPlan } = filter;
  const narrow = filterBy(scope, filter);
  if (sellingPlan === undefined) return { ...sessions, filter: narrow };
  return {
    ...{ table: 'checkout.session_selling_plans', id: 'session_id', records: sessions },
    filter: (query) => {
      query.where('checkout.session_selling_plans.selling_plan_id', sellingPlan).joinRaw(lookUpSession);
      narrow(query);
    },
  };
}

const lookUpSession = `cross join lateral (
  select * from checkout.sessions s where s.account_id = session_selling_plans.account_id
    and s.test_mode = session_selling_plans.test_mode and s.id = session_selling_plans.session_id offset 0) sessions`;

function filterBy(scope: Scope, filter: SessionFilter) {
  return (query: ReturnType<typeof sqlBuilder>): void => {
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
    for (const [side, time] of times) if (time !== undefined) query.where('sessions.created_at', side, time);
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
