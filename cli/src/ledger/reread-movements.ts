import { type Database, unscoped } from '@eligo/postgres';
import type { BalanceTransactionFacts, ProcessorPort, Processors } from '@eligo/processor';
import { allFeeds, beginningOf, type Feed, keyOf } from './feeds.ts';
import { patiently } from './patiently.ts';

/** Which movements are read again: those of a window, in milliseconds, of one account or of all. */
export interface Rereading {
  readonly from: number;
  readonly before: number;
  readonly accountId?: string | undefined;
}

/** What was read again. */
export interface Reread {
  readonly accounts: number;
  readonly listed: number;
  /** Those that were missing. */
  readonly stored: number;
  /** Accounts at processors that did not list all of the window. */
  readonly unread: readonly string[];
}

/**
 * Reads a window of each processor's list again and stores what is missing: a movement that was listed later than the jobs look back. The services post
 * it as any other. What is stored stays as it is. Holds a page at a time, each stored by itself, so that a run that was cut off is repeated.
 */
export async function rereadMovements(
  database: Database,
  processors: Processors,
  { from, before, accountId }: Rereading,
  onPage: (of: string, movements: number) => void = () => undefined,
): Promise<Reread> {
  let [accounts, listed, stored] = [0, 0, 0];
  const unread: string[] = [];
  for await (const feed of allFeeds(database)) {
    if (accountId !== undefined && feed.account_id !== accountId) continue;
    accounts += 1;
    const scope = { accountId: feed.account_id, testMode: feed.test_mode };
    const port = processors.findAt(scope, { processor: feed.processor, account: feed.processor_account });
    // Movements from before the first money of Eligo's are none of its books.
    const window = { from: new Date(Math.max(from, beginningOf(feed))), before: new Date(before) };
    const read = port && window.from < window.before ? await readFeed(database, port, feed, window) : undefined;
    if (port === undefined || read?.isWhole === false) unread.push(feed.processor_account);
    listed += read?.listed ?? 0;
    stored += read?.stored ?? 0;
    onPage(`the list of ${feed.processor_account}`, read?.listed ?? 0);
  }
  return { accounts, listed, stored, unread };
}

async function readFeed(
  database: Database,
  port: ProcessorPort,
  feed: Feed,
  window: { readonly from: Date; readonly before: Date },
): Promise<{ listed: number; stored: number; isWhole: boolean }> {
  let [listed, stored] = [0, 0];
  for (let after: string | undefined; ; ) {
    const page = await patiently(() => port.listBalanceTransactions({ ...window, after }));
    if (page.kind !== 'page') return { listed, stored, isWhole: false };
    listed += page.transactions.length;
    stored += await store(database, feed, page.transactions);
    if (!page.hasMore || page.lastId === undefined) return { listed, stored, isWhole: true };
    after = page.lastId;
  }
}

async function store(database: Database, feed: Feed, movements: readonly BalanceTransactionFacts[]): Promise<number> {
  const row = await database.row(insert, null, [
    ...keyOf(feed),
    movements.map(({ balanceTransactionId }) => balanceTransactionId),
    movements.map(({ type }) => type),
    movements.map(({ reportingCategory }) => reportingCategory),
    movements.map(({ amountCents }) => amountCents),
    movements.map(({ feeCents }) => feeCents),
    movements.map(({ applicationFeeCents }) => applicationFeeCents),
    movements.map(({ netCents }) => netCents),
    movements.map(({ availableOn }) => new Date(availableOn * 1_000)),
    movements.map(({ sourceId }) => sourceId ?? null),
    movements.map(({ createdAt }) => createdAt),
  ]);
  return row?.stored ?? 0;
}

// As the service stores them: what is stored is due to be posted. A day that was compared before is to be compared again.
const insert = unscoped<{ stored: number }>(
  'reread.insert',
  `with stored as (
     insert into refunds.processor_transactions (account_id, test_mode, processor, processor_account, id, type, reporting_category, amount_cents,
       fee_cents, application_fee_cents, net_cents, available_on, source_id, created_at)
     select $1, $2, $3, $4, m.* from unnest($5::text[], $6::text[], $7::text[], $8::bigint[], $9::bigint[], $10::bigint[], $11::bigint[],
       $12::timestamptz[], $13::text[], $14::timestamptz[]) as m
     on conflict (account_id, test_mode, processor, processor_account, id) do nothing
     returning (created_at at time zone 'UTC')::date as day
   ), again as (
     update refunds.checked_days set differs = true
      where account_id = $1 and test_mode = $2 and processor = $3 and processor_account = $4 and day in (select day from stored)
   )
   select count(*)::int as stored from stored`,
);
