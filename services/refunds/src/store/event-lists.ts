import { type Db, leaseFromNow, type Scope, scoped, type Tx, unscoped } from '@eligo/postgres';
import { wakeJobAfterCommit } from '@eligo/service';
import type { ProcessorAccount, ProcessorName } from '@eligo/values';

/** The job that reads the processors' lists of events. */
export const readEventListsJob = 'read-event-lists';

/** The list of events of a processor account, for an account and mode that has money there. */
export interface EventList {
  readonly scope: Scope;
  readonly account: ProcessorAccount;
}

/** A list in the hands of this process: how far it has been read, and where a reading that was not finished goes on. */
export interface ClaimedEventList extends EventList {
  readonly epoch: bigint;
  readonly readTo: Date;
  readonly readingTo: Date | null;
  readonly readingAfter: string | null;
}

/** Which of these lists are not read yet. */
export async function unreadEventLists(db: Db, lists: readonly EventList[]): Promise<EventList[]> {
  const rows = await db.rows(unread, null, [
    lists.map(({ scope }) => scope.accountId),
    lists.map(({ scope }) => scope.testMode),
    lists.map(({ account }) => account.processor),
    lists.map(({ account }) => account.account),
  ]);
  return rows.map(listOfRow);
}

/** Has a list read from a time on, first in `inMs`. One that is read already stays as it is. */
export async function watchEventList(tx: Tx, { scope, account }: EventList, from: Date, inMs: number): Promise<void> {
  wakeJobAfterCommit(tx, readEventListsJob, inMs);
  await tx.execute(watch, scope, [account.processor, account.account, from, inMs]);
}

/** Takes a due list for so long; undefined while another process reads it. */
export async function claimEventList(
  tx: Tx,
  { scope, account }: EventList,
  leaseMs: number,
): Promise<ClaimedEventList | undefined> {
  const row = await tx.row(claim, scope, [account.processor, account.account, leaseMs]);
  return (
    row && {
      ...{ scope, account, epoch: row.epoch, readTo: row.read_to },
      ...{ readingTo: row.reading_to, readingAfter: row.reading_after },
    }
  );
}

/** Notes that the events up to this one are stored, newest first. Throws when the lease was lost. */
export async function saveReading(
  tx: Tx,
  list: ClaimedEventList,
  readingTo: Date,
  after: string,
  leaseMs: number,
): Promise<void> {
  requireHeld(await tx.execute(save, list.scope, [...keyOf(list), readingTo, after, leaseMs]));
}

/** Notes that the reading is finished; the watermark moves. The next one is in `pauseMs`. Throws when the lease was lost. */
export async function finishReading(tx: Tx, list: ClaimedEventList, readingTo: Date, pauseMs: number): Promise<void> {
  requireHeld(await tx.execute(finish, list.scope, [...keyOf(list), readingTo, pauseMs]));
  wakeJobAfterCommit(tx, readEventListsJob, pauseMs);
}

/** Gives the list back; the reading goes on in `pauseMs`, or begins anew where its place is no longer known to the processor. */
export async function postponeReading(
  tx: Tx,
  list: ClaimedEventList,
  pauseMs: number,
  { anew = false }: { readonly anew?: boolean } = {},
): Promise<void> {
  wakeJobAfterCommit(tx, readEventListsJob, pauseMs);
  await tx.execute(postpone, list.scope, [...keyOf(list), pauseMs, anew]);
}

/** Lists whose time has come, over all accounts, those due longest first. */
export async function dueEventLists(db: Db, most: number): Promise<EventList[]> {
  return (await db.rows(due, null, [most])).map(listOfRow);
}

/** How long until a list is due, negative when one is; undefined when there is none. */
export async function nextEventListInMs(db: Db): Promise<number | undefined> {
  return (await db.row(next, null))?.due_in_ms ?? undefined;
}

/** For how many seconds the list that is furthest behind has not been read; 0 without a list. For a metric. */
export async function eventListLagSeconds(db: Db): Promise<number> {
  return Math.max(0, (await db.row(lag, null))?.seconds ?? 0);
}

/** The accounts and modes that have, or had, this account of the processor, at most ten. */
export async function accountsAtProcessor(db: Db, processor: ProcessorName, account: string): Promise<Scope[]> {
  const rows = await db.rows(atProcessor, null, [processor, account, 10]);
  return rows.map((row) => ({ accountId: row.account_id, testMode: row.test_mode }));
}

interface ListRow {
  account_id: string;
  test_mode: boolean;
  processor: ProcessorName;
  processor_account: string;
}

const names = 'account_id, test_mode, processor, processor_account';
const one = 'account_id = $1 and test_mode = $2 and processor = $3 and processor_account = $4';
const held = `${one} and epoch = $5`;

const unread = unscoped<ListRow>(
  'event_lists.unread',
  `select ${names} from refunds.unread_event_lists($1, $2, $3::refunds.processor[], $4)`,
);
const watch = scoped<never>(
  'event_lists.watch',
  `insert into refunds.event_lists (${names}, read_to, next_read_at)
   values ($1, $2, $3, $4, $5, clock_timestamp() + $6 * interval '1 millisecond')
   on conflict (${names}) do nothing`,
);
const claim = scoped<{ epoch: bigint; read_to: Date; reading_to: Date | null; reading_after: string | null }>(
  'event_lists.claim',
  `update refunds.event_lists set epoch = epoch + 1, lease_until = ${leaseFromNow('$5')}, next_read_at = ${leaseFromNow('$5')}
    where ${one} and lease_until <= clock_timestamp() and next_read_at <= clock_timestamp()
   returning epoch, read_to, reading_to, reading_after`,
);
const save = scoped<never>(
  'event_lists.save',
  `update refunds.event_lists
      set reading_to = $6, reading_after = $7, lease_until = ${leaseFromNow('$8')}, next_read_at = ${leaseFromNow('$8')}
    where ${held}`,
);
const finish = scoped<never>(
  'event_lists.finish',
  `update refunds.event_lists set read_to = $6, reading_to = null, reading_after = null, lease_until = clock_timestamp(),
     next_read_at = clock_timestamp() + $7 * interval '1 millisecond' where ${held}`,
);
const postpone = scoped<never>(
  'event_lists.postpone',
  `update refunds.event_lists
      set lease_until = clock_timestamp(), next_read_at = clock_timestamp() + $6 * interval '1 millisecond',
          reading_to = case when $7 then null else reading_to end, reading_after = case when $7 then null else reading_after end
    where ${held}`,
);
const due = unscoped<ListRow>('event_lists.due', `select ${names} from refunds.due_event_lists($1)`);
const next = unscoped<{ due_in_ms: number | null }>(
  'event_lists.next',
  'select extract(epoch from refunds.next_event_list() - clock_timestamp())::float8 * 1000 as due_in_ms',
);
const lag = unscoped<{ seconds: number | null }>(
  'event_lists.lag',
  'select extract(epoch from clock_timestamp() - refunds.event_lists_read_to())::float8 as seconds',
);
const atProcessor = unscoped<{ account_id: string; test_mode: boolean }>(
  'event_lists.at_processor',
  'select account_id, test_mode from refunds.accounts_at_processor($1, $2, $3)',
);

function keyOf({ account, epoch }: ClaimedEventList): [string, string, bigint] {
  return [account.processor, account.account, epoch];
}

function listOfRow(row: ListRow): EventList {
  return {
    scope: { accountId: row.account_id, testMode: row.test_mode },
    account: { processor: row.processor, account: row.processor_account },
  };
}

function requireHeld(rows: number): void {
  if (rows !== 1) throw new Error('Another process has taken over the reading of an event list');
}
