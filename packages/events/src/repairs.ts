import { type Database, unscoped } from '@eligo/postgres';

/** What a relay found its stream to have lost, and what it did. */
export interface Repair {
  readonly foundAt: Date;
  readonly stream: string;
  /** The sign that it was known by: missing, recreated, gone back, gone back unseen. */
  readonly how: string;
  /** The last place of the stream that was taken for kept; -1 when nothing was. */
  readonly keptSeq: number;
  /** Consumers that begin anew. */
  readonly consumers: number;
  /** Events that are published again. */
  readonly events: number;
}

/** Writes down a repair. */
export async function noteRepair(database: Database, repair: Omit<Repair, 'foundAt'>): Promise<void> {
  const { stream, how, keptSeq, consumers, events } = repair;
  await database.execute(insert, null, [stream, how, keptSeq, consumers, events]);
}

/** The latest repairs of the schema's stream, at most `limit`. */
export async function listRepairs(database: Database, limit = 100): Promise<Repair[]> {
  const rows = await database.rows(list, null, [limit]);
  return rows.map((row) => ({
    foundAt: row.found_at,
    stream: row.stream,
    how: row.how,
    keptSeq: Number(row.kept_seq),
    consumers: row.consumers,
    events: Number(row.events),
  }));
}

const insert = unscoped(
  'events.note_repair',
  'insert into outbox_repairs (stream, how, kept_seq, consumers, events) values ($1, $2, $3, $4, $5)',
);
const list = unscoped<{
  found_at: Date;
  stream: string;
  how: string;
  kept_seq: bigint;
  consumers: number;
  events: bigint;
}>(
  'events.list_repairs',
  'select found_at, stream, how, kept_seq, consumers, events from outbox_repairs order by found_at desc limit $1',
);
