import { fromBinary } from '@bufbuild/protobuf';
import { type Database, unscoped, withTx } from '@eligo/postgres';
import { EventSchema } from '@eligo/proto/events/v1/events';
import { type HandleEvent, scopeOf } from './inbox.ts';

/** An event that a consumer could not deal with. */
export interface DeadLetter {
  readonly consumer: string;
  readonly eventId: string;
  readonly type: string;
  readonly error: string;
  readonly deliveries: number;
  readonly createdAt: Date;
}

/** The oldest dead letters of the schema, at most `limit`. */
export async function listDeadLetters(database: Database, limit = 100): Promise<DeadLetter[]> {
  const rows = await database.rows(list, null, [limit]);
  return rows.map((row) => ({
    consumer: row.consumer,
    eventId: row.event_id,
    type: row.type,
    error: row.error,
    deliveries: row.deliveries,
    createdAt: row.created_at,
  }));
}

/** How many dead letters there are; more than none is an alert. */
export async function countDeadLetters(database: Database): Promise<number> {
  return Number((await database.row(count, null))?.letters ?? 0n);
}

/** Gives a dead letter to its consumer's handler once more and, when that succeeds, removes it. False: there is no such letter. */
export async function redrive(
  database: Database,
  consumer: string,
  eventId: string,
  handle: HandleEvent,
): Promise<boolean> {
  const letter = await database.row(read, null, [consumer, eventId]);
  if (letter === undefined) return false;
  const event = fromBinary(EventSchema, letter.payload);
  await withTx(database, scopeOf(event), async (tx) => {
    if ((await tx.execute(remove, null, [consumer, eventId])) === 0) return;
    if ((await tx.execute(note, null, [consumer, eventId])) === 1) await handle(tx, event);
  });
  return true;
}

const list = unscoped<{
  consumer: string;
  event_id: string;
  type: string;
  error: string;
  deliveries: number;
  created_at: Date;
}>(
  'events.list_dead_letters',
  'select consumer, event_id, type, error, deliveries, created_at from dead_letters order by created_at limit $1',
);
const count = unscoped<{ letters: bigint }>(
  'events.count_dead_letters',
  'select count(*) as letters from dead_letters',
);
const read = unscoped<{ payload: Buffer }>(
  'events.read_dead_letter',
  'select payload from dead_letters where consumer = $1 and event_id = $2',
);
const remove = unscoped('events.remove_dead_letter', 'delete from dead_letters where consumer = $1 and event_id = $2');
const note = unscoped('events.note', 'insert into inbox (consumer, event_id) values ($1, $2) on conflict do nothing');
