import { type Database, type Tx, unscoped, withTx } from '@eligo/postgres';
import { timeOfId } from '@eligo/values';
import { type OutboxRow, upToBatchBytes } from './outbox.ts';
import { rememberStream } from './stream-memory.ts';

/** A repair of a stream that has lost events. */
export interface Repair {
  readonly foundAt: Date;
  readonly stream: string;
  /** The sign by which the loss was found: missing, recreated, gone back, gone back unseen. */
  readonly how: string;
  /** The last place of the stream that was taken for kept; -1 when nothing was. */
  readonly keptSeq: number;
  /** Consumers that were recreated. */
  readonly consumers: number;
  /** Events published again so far. */
  readonly events: number;
  /** Null while it is in progress. */
  readonly finishedAt: Date | null;
  /** The share of the time span to be published again that is done: 0 to 1. */
  readonly progress: number;
  /** The time span of events that is still to be published again. */
  readonly remainingMs: number;
}

/** A repair in progress: every event after `afterEventId`, up to `lastEventId`, is to be published again. */
export interface OpenRepair {
  readonly foundAt: Date;
  readonly stream: string;
  readonly afterEventId: string;
  readonly lastEventId: string;
}

/** What was found. */
export interface Loss {
  readonly stream: string;
  readonly how: string;
  readonly keptSeq: number;
  readonly consumers: number;
  /** When the stream was created, if that is to be remembered with the repair. */
  readonly created?: string | undefined;
}

/**
 * Begins a repair: everything that was published beyond the last kept place, or within the last ten minutes (acknowledged events may be missing
 * from the disk of a server that syncs every two minutes), is to be published again. It goes on where a repair in progress had come to,
 * if that is earlier. The positions that are lost are forgotten in the same transaction.
 */
export function beginRepair(database: Database, loss: Loss): Promise<void> {
  const { stream, how, keptSeq, consumers, created } = loss;
  return withTx(database, null, async (tx) => {
    const lost = await firstLost(tx, keptSeq);
    const previous = await tx.row(open, null, [stream]);
    const after = previous === undefined || lost < previous.after_event_id ? lost : previous.after_event_id;
    if (previous !== undefined) await tx.execute(finish, null, [stream, previous.found_at]);
    await tx.execute(forgetPositions, null, [keptSeq]);
    await tx.execute(insert, null, [stream, how, keptSeq, consumers, after]);
    if (created !== undefined) await rememberStream(tx, stream, created);
  });
}

async function firstLost(tx: Tx, keptSeq: number): Promise<string> {
  if (keptSeq <= 0) return '';
  return (await tx.row(lowest, null, [keptSeq]))?.after_event_id ?? '';
}

/** The stream repair in progress, if one is. */
export async function openRepair(database: Database, stream: string): Promise<OpenRepair | undefined> {
  const row = await database.row(open, null, [stream]);
  return (
    row && {
      foundAt: row.found_at,
      stream,
      afterEventId: row.after_event_id,
      lastEventId: row.last_event_id,
    }
  );
}

/** How many rows of the outbox a repair reads at once, unless their bytes fill a batch: new events wait for one such slice at most, some 30 ms. */
export const SLICE_ROWS = 200;

/**
 * The next rows of a repair, at most so many of a slice, oldest first, and the id with which they end; what the queue holds, or retention has blanked, is
 * left out.
 */
export async function readSlice(
  database: Database,
  { afterEventId, lastEventId }: OpenRepair,
  most = SLICE_ROWS,
): Promise<{ rows: OutboxRow[]; lastEventId: string | undefined }> {
  const found = await database.rows(slice, null, [afterEventId, lastEventId, most]);
  const rows = found.filter((row): row is OutboxRow & { queued: boolean } => row.payload !== null && !row.queued);
  return { rows, lastEventId: found.at(-1)?.event_id };
}

/** Moves the repair behind an event. */
export async function advanceRepair(database: Database, repair: OpenRepair, afterEventId: string, events: number) {
  await database.execute(advance, null, [repair.stream, repair.foundAt, afterEventId, events]);
}

/** Ends the repair. */
export async function finishRepair(database: Database, { stream, foundAt }: OpenRepair): Promise<void> {
  await database.execute(finish, null, [stream, foundAt]);
}

/** The latest repairs of the schema's stream, at most `limit`. */
export async function listRepairs(database: Database, limit = 100): Promise<Repair[]> {
  const rows = await database.rows(list, null, [limit]);
  return rows.map((row) => {
    const isOpen = row.last_event_id !== null && row.finished_at === null;
    const times = [row.began_after_event_id, row.after_event_id, row.last_event_id].map(
      (id) => timeOfId('event', id ?? '')?.getTime() ?? 0,
    ) as [number, number, number];
    const [began, reached, last] = [times[0], Math.max(times[0], times[1]), times[2]];
    return {
      foundAt: row.found_at,
      stream: row.stream,
      how: row.how,
      keptSeq: Number(row.kept_seq),
      consumers: row.consumers,
      events: Number(row.events),
      finishedAt: isOpen ? null : (row.finished_at ?? row.found_at),
      progress: isOpen && last > began ? (reached - began) / (last - began) : Number(!isOpen),
      remainingMs: isOpen ? Math.max(0, last - reached) : 0,
    };
  });
}

/** The repair in progress, if one is. */
export async function currentRepair(database: Database): Promise<Repair | undefined> {
  const [latest] = await listRepairs(database, 1);
  return latest?.finishedAt === null ? latest : undefined;
}

// The lowest id that the lost positions hold; a repair begins behind the event before it.
const lowest = unscoped<{ after_event_id: string | null }>(
  'events.first_lost',
  `select coalesce((select max(o.event_id) from outbox o where o.event_id < p.event_id), '') as after_event_id
   from (select coalesce(min(oldest_event_id), '~') as event_id from outbox_positions
         where last_seq > $1 or ended_at > clock_timestamp() - interval '10 minutes') p`,
);
const forgetPositions = unscoped('events.forget_positions', 'delete from outbox_positions where last_seq > $1');
const insert = unscoped(
  'events.begin_repair',
  // Later than every other repair, also within a millisecond and when the clock was set back: the latest one is the one in progress.
  `insert into outbox_repairs (found_at, stream, how, kept_seq, consumers, events, after_event_id, last_event_id, began_after_event_id)
   select greatest(clock_timestamp(), (select max(found_at) from outbox_repairs) + interval '1 millisecond'), $1, $2, $3, $4, 0, $5, coalesce((select max(event_id) from outbox), ''),
          greatest($5, (select min(event_id) from outbox))`,
);
const open = unscoped<{ found_at: Date; after_event_id: string; last_event_id: string }>(
  'events.open_repair',
  `select found_at, after_event_id, last_event_id from outbox_repairs
   where stream = $1 and finished_at is null and last_event_id is not null order by found_at desc limit 1`,
);
// Asked with `exists`, the whole queue would be read and hashed for each slice.
// The limit inside is for the planner: one that is a parameter alone would be planned as a tenth of the outbox.
const slice = unscoped<Omit<OutboxRow, 'payload'> & { payload: Buffer | null; queued: boolean }>(
  'events.repair_slice',
  upToBatchBytes(
    'event_id, aggregate_id, aggregate_seq, type, test_mode, payload, queued',
    `
   select * from (
     select o.event_id, o.aggregate_id, o.aggregate_seq, o.type, o.test_mode, o.payload,
            (select true from outbox_queue q where q.event_id = o.event_id) is not null as queued
     from outbox o where o.event_id > $1 and o.event_id <= $2 order by o.event_id limit ${SLICE_ROWS}
   ) slice limit $3`,
  ),
);
const advance = unscoped(
  'events.advance_repair',
  `update outbox_repairs set after_event_id = $3, events = events + $4
   where stream = $1 and found_at = $2 and finished_at is null`,
);
const finish = unscoped(
  'events.finish_repair',
  `update outbox_repairs set finished_at = clock_timestamp() where stream = $1 and found_at = $2 and finished_at is null`,
);
const list = unscoped<{
  found_at: Date;
  stream: string;
  how: string;
  kept_seq: bigint;
  consumers: number;
  events: bigint;
  after_event_id: string | null;
  last_event_id: string | null;
  began_after_event_id: string | null;
  finished_at: Date | null;
}>(
  'events.list_repairs',
  `select found_at, stream, how, kept_seq, consumers, events, after_event_id, last_event_id, began_after_event_id, finished_at
   from outbox_repairs order by found_at desc limit $1`,
);
