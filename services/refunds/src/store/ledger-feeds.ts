import { type Db, leaseFromNow, type Scope, scoped, type Tx, unscoped } from '@eligo/postgres';
import { wakeJobAfterCommit } from '@eligo/service';
import type { ProcessorAccount, ProcessorName } from '@eligo/values';

/** The job that reads the balance of the processor's accounts. */
export const readBalancesJob = 'read-balances';

/** The list of movements of one account at the processor. */
export interface LedgerFeed {
  readonly scope: Scope;
  readonly processorAccount: ProcessorAccount;
}

/** A feed in the hands of this process. */
export interface ClaimedFeed {
  readonly readFrom: Date;
  readonly windowSeconds: number;
  readonly quietReads: number;
}

/** Has these feeds read soon, because money of theirs was recorded that began at these times. */
export async function wakeFeeds(
  tx: Tx,
  scope: Scope,
  feeds: readonly { readonly processorAccount: ProcessorAccount; readonly since: Date }[],
): Promise<void> {
  if (feeds.length === 0) return;
  const written = await tx.execute(wake, scope, [
    feeds.map(({ processorAccount }) => processorAccount.processor),
    feeds.map(({ processorAccount }) => processorAccount.account),
    feeds.map(({ since }) => since),
    soonMs,
  ]);
  if (written > 0) wakeJobAfterCommit(tx, readBalancesJob, soonMs);
}

/** Feeds that are due, that due longest first. */
export async function dueFeeds(db: Db, most: number): Promise<LedgerFeed[]> {
  const rows = await db.rows(due, null, [most]);
  return rows.map((row) => ({
    scope: { accountId: row.account_id, testMode: row.test_mode },
    processorAccount: { processor: row.processor, account: row.processor_account },
  }));
}

/** How long until a feed is due, negative when one is; undefined when there is none. */
export async function nextFeedInMs(db: Db): Promise<number | undefined> {
  return (await db.row(next, null))?.due_in_ms ?? undefined;
}

/** Takes a due feed for so long; undefined when another process has it. */
export async function claimFeed(tx: Tx, feed: LedgerFeed, leaseMs: number): Promise<ClaimedFeed | undefined> {
  const row = await tx.row(claim, feed.scope, [...keyOf(feed), leaseMs]);
  return row && { readFrom: row.read_from, windowSeconds: row.window_seconds, quietReads: row.quiet_reads };
}

/** Holds a feed for longer. */
export async function holdFeed(tx: Tx, feed: LedgerFeed, leaseMs: number): Promise<void> {
  await tx.execute(hold, feed.scope, [...keyOf(feed), leaseMs]);
}

/** Where the next read of a feed begins, and when. */
export interface FeedProgress extends ClaimedFeed {
  readonly inMs: number;
}

/**
 * Ends a read. An older entry that was recorded meanwhile has set the beginning back: then it stays there, and the feed is read again at once.
 */
export async function saveFeed(tx: Tx, feed: LedgerFeed, before: ClaimedFeed, after: FeedProgress): Promise<void> {
  const { readFrom, windowSeconds, quietReads, inMs } = after;
  await tx.execute(save, feed.scope, [...keyOf(feed), before.readFrom, readFrom, windowSeconds, quietReads, inMs]);
}

/** For how many seconds the ledger lags behind what is recorded, and behind what the processor listed. For a metric. */
export async function ledgerLagSeconds(db: Db): Promise<number> {
  return (await db.row(lag, null))?.seconds ?? 0;
}

// The processor lists a movement some moments after it made it.
const soonMs = 2_000;

function keyOf({ processorAccount }: LedgerFeed): unknown[] {
  return [processorAccount.processor, processorAccount.account];
}

const key = 'account_id = $1 and test_mode = $2 and processor = $3 and processor_account = $4';

// Locks no feed that is read soon anyway, and the others in one order: two transactions that wake the same feeds would deadlock otherwise.
const wake = scoped<never>(
  'ledger_feeds.wake',
  `insert into refunds.ledger_feeds as f (account_id, test_mode, processor, processor_account, begins_at, read_from, next_read_at)
   select $1, $2, n.processor, n.account, n.since, n.since, ${leaseFromNow('$6::bigint')}
     from unnest($3::refunds.processor[], $4::text[], $5::timestamptz[]) as n (processor, account, since)
    where not exists (select from refunds.ledger_feeds k where k.account_id = $1 and k.test_mode = $2 and k.processor = n.processor
      and k.processor_account = n.account and k.next_read_at <= ${leaseFromNow('$6::bigint')} and k.quiet_reads = 0 and k.begins_at <= n.since)
    order by n.processor, n.account
   on conflict (account_id, test_mode, processor, processor_account) do update
     set next_read_at = least(f.next_read_at, excluded.next_read_at), quiet_reads = 0,
         begins_at = least(f.begins_at, excluded.begins_at),
         read_from = case when excluded.begins_at < f.begins_at then least(f.read_from, excluded.begins_at) else f.read_from end`,
);
const due = unscoped<{ account_id: string; test_mode: boolean; processor: ProcessorName; processor_account: string }>(
  'ledger_feeds.due',
  'select account_id, test_mode, processor, processor_account from refunds.due_ledger_feeds($1)',
);
const next = unscoped<{ due_in_ms: number | null }>(
  'ledger_feeds.next',
  'select extract(epoch from refunds.next_ledger_feed() - clock_timestamp())::float8 * 1000 as due_in_ms',
);
const claim = scoped<{ read_from: Date; window_seconds: number; quiet_reads: number }>(
  'ledger_feeds.claim',
  `update refunds.ledger_feeds set next_read_at = ${leaseFromNow('$5::bigint')}
    where ${key} and next_read_at <= clock_timestamp() returning read_from, window_seconds, quiet_reads`,
);
const hold = scoped<never>(
  'ledger_feeds.hold',
  `update refunds.ledger_feeds set next_read_at = ${leaseFromNow('$5::bigint')} where ${key}`,
);
const save = scoped<never>(
  'ledger_feeds.save',
  `update refunds.ledger_feeds set read_from = case when read_from = $5 then $6 else read_from end, window_seconds = $7, quiet_reads = $8,
     next_read_at = case when read_from = $5 then ${leaseFromNow('$9::bigint')} else clock_timestamp() end
    where ${key}`,
);
const lag = unscoped<{ seconds: number | null }>('ledger.lag', 'select refunds.ledger_lag_seconds() as seconds');
