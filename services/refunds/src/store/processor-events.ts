import { type Db, leaseFromNow, type Scope, scoped, type Tx, unscoped } from '@eligo/postgres';
import { wakeJobAfterCommit } from '@eligo/service';

/** The job that handles events of the processor. */
export const handleEventsJob = 'handle-processor-events';

/** An event as the processor delivered or listed it. */
export interface ReceivedEvent {
  readonly processor: string;
  /** The processor's account that it happened on; null where a gateway of the release before this one delivered it. */
  readonly processorAccount: string | null;
  readonly eventId: string;
  readonly type: string;
  readonly objectId: string;
  readonly createdAt: Date;
}

/** An event that waits for its object to be fetched, in the hands of this process. */
export interface WaitingEvent {
  readonly processor: string;
  readonly processorAccount: string | null;
  readonly eventId: string;
  readonly type: string;
  readonly checks: number;
  readonly waitedMs: number;
}

/** Stores events, each once; those that are known already are left as they are. Answers how many were new. */
export async function storeEvents(tx: Tx, scope: Scope, received: readonly ReceivedEvent[]): Promise<number> {
  // All writers insert in one order: two that store the same events wait for each other in one direction.
  const events = received.toSorted((one, other) => (one.eventId < other.eventId ? -1 : 1));
  const stored = await tx.execute(insert, scope, [
    events.map(({ processor }) => processor),
    events.map(({ eventId }) => eventId),
    events.map(({ type }) => type),
    events.map(({ objectId }) => objectId),
    events.map(({ createdAt }) => createdAt),
    events.map(({ processorAccount }) => processorAccount),
  ]);
  if (stored > 0) wakeJobAfterCommit(tx, handleEventsJob);
  return stored;
}

/** Takes all due events of an object for so long; what comes later is fetched again. */
export async function claimEventsOf(tx: Tx, scope: Scope, objectId: string, leaseMs: number): Promise<WaitingEvent[]> {
  const rows = await tx.rows(claim, scope, [objectId, leaseMs]);
  return rows.map((row) => ({
    processor: row.processor,
    processorAccount: row.processor_account,
    eventId: row.id,
    type: row.type,
    checks: row.checks,
    waitedMs: row.waited_ms,
  }));
}

/** Notes that events are handled, or dropped because their object is not ours. */
export async function settleEvents(
  tx: Tx,
  scope: Scope,
  events: readonly WaitingEvent[],
  status: 'handled' | 'dropped',
): Promise<void> {
  await tx.execute(settle, scope, [
    events.map(({ processor }) => processor),
    events.map(({ eventId }) => eventId),
    status,
  ]);
}

/** Puts events off. */
export async function postponeEvents(
  tx: Tx,
  scope: Scope,
  events: readonly WaitingEvent[],
  pauseMs: number,
): Promise<void> {
  wakeJobAfterCommit(tx, handleEventsJob, pauseMs);
  await tx.execute(postpone, scope, [
    events.map(({ processor }) => processor),
    events.map(({ eventId }) => eventId),
    pauseMs,
  ]);
}

/** Makes events due that wait for their next check for longer than a process takes to handle one: at most so many, in all accounts. */
export async function wakeEvents(db: Db, turnMs: number, most: number): Promise<void> {
  await db.execute(wake, null, [turnMs, most]);
}

/** An account behind which the next look goes on. */
export interface EventPlace {
  readonly accountId: string;
  readonly testMode: boolean;
}

/** Before every account. */
export const firstPlace: EventPlace = { accountId: '', testMode: false };

/** The objects of due events, of each account its longest due; `last` is undefined behind the last account that has any. */
export async function dueEventObjects(
  db: Db,
  after: EventPlace,
  pages: { readonly accounts: number; readonly each: number },
): Promise<{ objects: { scope: Scope; objectId: string }[]; last: EventPlace | undefined }> {
  const rows = await db.rows(due, null, [after.accountId, after.testMode, pages.accounts, pages.each]);
  const objects = new Map<string, { scope: Scope; objectId: string }>();
  for (const { account_id: accountId, test_mode: testMode, object_id: objectId } of rows) {
    if (objectId !== null)
      objects.set(`${accountId} ${testMode} ${objectId}`, { scope: { accountId, testMode }, objectId });
  }
  const accounts = new Set(rows.map((row) => `${row.account_id} ${row.test_mode}`));
  const last = accounts.size < pages.accounts ? undefined : rows.at(-1);
  return { objects: [...objects.values()], last: last && { accountId: last.account_id, testMode: last.test_mode } };
}

/** How long until an event falls due, negative when one is; undefined when none waits. */
export async function nextEventInMs(db: Db): Promise<number | undefined> {
  return (await db.row(next, null))?.due_in_ms ?? undefined;
}

/** Events that have waited longer than this, counted up to a thousand. For a metric. */
export async function countWaitingEvents(db: Db, afterSeconds: number): Promise<number> {
  return Number((await db.row(inDoubt, null, [afterSeconds]))?.events ?? 0n);
}

/** Deletes events that the processor no longer lists, at most `batch`. */
export async function pruneProcessorEvents(db: Db, batch: number): Promise<number> {
  return Number((await db.row(prune, null, [batch]))?.pruned ?? 0n);
}

const here = 'account_id = $1 and test_mode = $2';

const insert = scoped<never>(
  'processor_events.insert',
  `insert into refunds.processor_events (account_id, test_mode, processor, id, type, object_id, created_at, processor_account)
   select $1, $2, e.* from unnest($3::text[], $4::text[], $5::text[], $6::text[], $7::timestamptz[], $8::text[]) as e
   on conflict (account_id, test_mode, processor, id) do nothing`,
);
const claim = scoped<{
  processor: string;
  processor_account: string | null;
  id: string;
  type: string;
  checks: number;
  waited_ms: number;
}>(
  'processor_events.claim',
  `update refunds.processor_events set checks = checks + 1, next_check_at = ${leaseFromNow('$4')}
    where ${here} and object_id = $3 and next_check_at <= clock_timestamp()
   returning processor, processor_account, id, type, checks,
     extract(epoch from clock_timestamp() - received_at)::float8 * 1000 as waited_ms`,
);
const settle = scoped<never>(
  'processor_events.settle',
  `update refunds.processor_events e set status = $5, settled_at = clock_timestamp(), next_check_at = null
     from unnest($3::text[], $4::text[]) as k (processor, id)
    where e.account_id = $1 and e.test_mode = $2 and e.processor = k.processor and e.id = k.id and e.status = 'waiting'`,
);
const postpone = scoped<never>(
  'processor_events.postpone',
  `update refunds.processor_events e set next_check_at = ${leaseFromNow('$5::bigint')}
     from unnest($3::text[], $4::text[]) as k (processor, id)
    where e.account_id = $1 and e.test_mode = $2 and e.processor = k.processor and e.id = k.id and e.status = 'waiting'`,
);
const wake = unscoped(
  'processor_events.wake',
  `select refunds.wake_processor_events($1 * interval '1 millisecond', $2)`,
);
const due = unscoped<{ account_id: string; test_mode: boolean; object_id: string | null }>(
  'processor_events.due',
  'select account_id, test_mode, object_id from refunds.due_processor_events($1, $2, $3, $4)',
);
const next = unscoped<{ due_in_ms: number | null }>(
  'processor_events.next',
  'select extract(epoch from refunds.next_processor_event() - clock_timestamp())::float8 * 1000 as due_in_ms',
);
const inDoubt = unscoped<{ events: bigint }>(
  'processor_events.in_doubt',
  'select refunds.processor_events_in_doubt($1) as events',
);
const prune = unscoped<{ pruned: bigint }>(
  'processor_events.prune',
  'select refunds.prune_processor_events($1) as pruned',
);
