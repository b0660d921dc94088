import { fromBinary } from '@bufbuild/protobuf';
import { type Database, unscoped, withTx } from '@eligo/postgres';
import { type Event, EventSchema } from '@eligo/proto/events/v1/events';
import { type HandleEvent, noteInInbox, scopeOf } from './inbox.ts';
import { wakeRedrivers } from './wake.ts';

/** An event that a consumer could not deal with. */
export interface DeadLetter {
  readonly consumer: string;
  readonly eventId: string;
  readonly type: string;
  readonly accountId: string;
  readonly testMode: boolean;
  /** The name and code of the last error. */
  readonly error: string;
  readonly deliveries: number;
  readonly createdAt: Date;
  /** When its redrive was requested; null without a request, and after a redrive failed. */
  readonly redriveAt: Date | null;
  /** How many redrives failed. */
  readonly redrives: number;
}

/** Which dead letters: all, those of a consumer, or those of an event. */
export interface DeadLetterFilter {
  readonly consumer?: string | undefined;
  readonly eventId?: string | undefined;
}

/** The oldest dead letters of the schema, at most `limit`. */
export async function listDeadLetters(
  database: Database,
  limit = 100,
  filter: DeadLetterFilter = {},
): Promise<DeadLetter[]> {
  const rows = await database.rows(list, null, [limit, filter.consumer ?? null, filter.eventId ?? null]);
  return rows.map((row) => ({
    consumer: row.consumer,
    eventId: row.event_id,
    type: row.type,
    accountId: row.account_id,
    testMode: row.test_mode,
    error: row.error,
    deliveries: row.deliveries,
    createdAt: row.created_at,
    redriveAt: row.redrive_at,
    redrives: row.redrives,
  }));
}

/** The event of a dead letter, or undefined if there is none. It may contain personal data. */
export async function deadEvent(database: Database, consumer: string, eventId: string): Promise<Event | undefined> {
  const letter = await database.row(read, null, [consumer, eventId]);
  return letter && fromBinary(EventSchema, letter.payload);
}

/** How many dead letters there are, counted up to 10,000; more than none is an alert. */
export async function countDeadLetters(database: Database): Promise<number> {
  return Number((await database.row(count, null))?.letters ?? 0n);
}

/** Asks the running consumers to deal with these dead letters again; returns how many there are. They do so within seconds. */
export async function requestRedrive(database: Database, filter: DeadLetterFilter = {}): Promise<number> {
  const requested = await withTx(database, null, (tx) =>
    tx.execute(request, null, [filter.consumer ?? null, filter.eventId ?? null]),
  );
  await wakeRedrivers(database);
  return requested;
}

/** The events that this consumer was asked to deal with again, those asked for first. */
export async function requestedRedrives(database: Database, consumer: string, limit: number): Promise<string[]> {
  return (await database.rows(requested, null, [consumer, limit])).map((row) => row.event_id);
}

/**
 * Gives a dead letter to its consumer's handler once more and, when that succeeds, removes it: handler, inbox and letter in one transaction, so
 * that it takes effect once, even if other processes try. Returns whether the dead letter existed.
 */
export async function redrive(
  database: Database,
  consumer: string,
  eventId: string,
  handle: HandleEvent,
): Promise<boolean> {
  const event = await deadEvent(database, consumer, eventId);
  if (event === undefined) return false;
  await withTx(database, scopeOf(event), async (tx) => {
    if ((await tx.execute(remove, null, [consumer, eventId])) === 0) return;
    if ((await noteInInbox(tx, consumer, [eventId])).size > 0) await handle(tx, event);
  });
  return true;
}

/** Records a failed redrive; the dead letter waits for the next request. */
export async function noteFailedRedrive(
  database: Database,
  consumer: string,
  eventId: string,
  error: string,
): Promise<void> {
  await database.execute(failed, null, [consumer, eventId, error]);
}

const list = unscoped<{
  consumer: string;
  event_id: string;
  type: string;
  account_id: string;
  test_mode: boolean;
  error: string;
  deliveries: number;
  created_at: Date;
  redrive_at: Date | null;
  redrives: number;
}>(
  'events.list_dead_letters',
  `select consumer, event_id, type, account_id, test_mode, error, deliveries, created_at, redrive_at, redrives
   from dead_letters where ($2::text is null or consumer = $2) and ($3::text is null or event_id = $3)
   order by created_at, event_id limit $1`,
);
const count = unscoped<{ letters: bigint }>(
  'events.count_dead_letters',
  'select count(*) as letters from (select from dead_letters limit 10000) counted',
);
const read = unscoped<{ payload: Buffer }>(
  'events.read_dead_letter',
  'select payload from dead_letters where consumer = $1 and event_id = $2',
);
const remove = unscoped('events.remove_dead_letter', 'delete from dead_letters where consumer = $1 and event_id = $2');
const request = unscoped(
  'events.request_redrive',
  `update dead_letters set redrive_at = coalesce(redrive_at, clock_timestamp())
   where ($1::text is null or consumer = $1) and ($2::text is null or event_id = $2)`,
);
const requested = unscoped<{ event_id: string }>(
  'events.requested_redrives',
  'select event_id from dead_letters where consumer = $1 and redrive_at is not null order by redrive_at, event_id limit $2',
);
const failed = unscoped(
  'events.failed_redrive',
  `update dead_letters set redrive_at = null, redrives = redrives + 1, error = $3
   where consumer = $1 and event_id = $2 and redrive_at is not null`,
);
