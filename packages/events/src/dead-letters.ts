import { fromBinary } from '@bufbuild/protobuf';
import { type Database, inPages, unscoped, withTx } from '@eligo/postgres';
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

/** The dead letters of the oldest events of the schema, at most `limit`. */
export async function listDeadLetters(
  database: Database,
  limit = 100,
  { consumer, eventId }: DeadLetterFilter = {},
): Promise<DeadLetter[]> {
  // A statement for each: one for all of them would find no index for any.
  if (eventId !== undefined) {
    return (await database.rows(ofEvent, null, [eventId, consumer ?? null, limit])).map(letterOfRow);
  }
  if (consumer !== undefined) return (await database.rows(ofConsumer, null, [consumer, limit])).map(letterOfRow);
  return (await database.rows(oldest, null, [limit])).map(letterOfRow);
}

/** Those of these dead letters that are still there, as they are now. */
export async function deadLettersNow(
  database: Database,
  letters: readonly Pick<DeadLetter, 'consumer' | 'eventId'>[],
): Promise<DeadLetter[]> {
  const rows = await database.rows(named, null, [
    letters.map(({ consumer }) => consumer),
    letters.map(({ eventId }) => eventId),
  ]);
  return rows.map(letterOfRow);
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

/**
 * Asks the running consumers to deal with these dead letters again; returns how many there are. They do so within seconds. All of an incident are asked for
 * in short transactions of a page each, and the consumers begin with the first page.
 */
export async function requestRedrive(
  database: Database,
  { consumer, eventId }: DeadLetterFilter = {},
): Promise<number> {
  if (eventId !== undefined) {
    const count = await withTx(database, null, (tx) => tx.execute(requestOfEvent, null, [eventId, consumer ?? null]));
    await wakeRedrivers(database);
    return count;
  }
  let count = 0;
  await inPages<{ consumer: string; event_id: string }>(redrivePage, async (after) => {
    const bounds = [after?.consumer ?? consumer ?? '', after?.event_id ?? '', consumer ?? last];
    const page = await withTx(database, null, (tx) => tx.rows(requestPage, null, [...bounds, redrivePage]));
    count += page.length;
    if (page.length > 0) await wakeRedrivers(database);
    return page;
  });
  return count;
}

/** How many dead letters one transaction asks for. */
export const redrivePage = 1_000;

// After the name of every consumer.
const last = '~';

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

interface LetterRow {
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
}

function letterOfRow(row: LetterRow): DeadLetter {
  return {
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
  };
}

const columns = 'consumer, event_id, type, account_id, test_mode, error, deliveries, created_at, redrive_at, redrives';
const oldest = unscoped<LetterRow>(
  'events.list_dead_letters',
  `select ${columns} from dead_letters order by event_id, consumer limit $1`,
);
const ofConsumer = unscoped<LetterRow>(
  'events.list_dead_letters_of_consumer',
  `select ${columns} from dead_letters where consumer = $1 order by event_id limit $2`,
);
const ofEvent = unscoped<LetterRow>(
  'events.list_dead_letters_of_event',
  `select ${columns} from dead_letters where event_id = $1 and ($2::text is null or consumer = $2) order by consumer limit $3`,
);
// `offset 0` keeps each look-up a look-up.
const named = unscoped<LetterRow>(
  'events.dead_letters_now',
  `select d.* from unnest($1::text[], $2::text[]) as n (consumer, event_id)
   cross join lateral (select ${columns} from dead_letters l where l.consumer = n.consumer and l.event_id = n.event_id offset 0) d`,
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
const requestOfEvent = unscoped(
  'events.request_redrive',
  `update dead_letters set redrive_at = coalesce(redrive_at, clock_timestamp())
   where event_id = $1 and ($2::text is null or consumer = $2)`,
);
// One that was asked for before is counted, and not written again. The places of rows that are locked stay, and need no plan to be found by.
const requestPage = unscoped<{ consumer: string; event_id: string }>(
  'events.request_redrives',
  `with page as (
     select ctid as place, consumer, event_id from dead_letters where (consumer, event_id) > ($1, $2) and consumer <= $3
     order by consumer, event_id limit $4 for update
   ), asked as (
     update dead_letters set redrive_at = clock_timestamp()
     where ctid = any(array(select place from page)) and redrive_at is null
   )
   select consumer, event_id from page order by consumer, event_id`,
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
