import { create, toBinary } from '@bufbuild/protobuf';
import { afterCommit, type Tx, unscoped } from '@eligo/postgres';
import { type Event, EventSchema } from '@eligo/proto/events/v1/events';
import { newId } from '@eligo/values';
import { currentEventContext } from './event-context.ts';
import { wakeRelay } from './wake.ts';

/** What an event tells of: the message of the record as of this commit. */
export type EventObject = Exclude<Event['object'], { case: undefined }>;

/** An event to append. */
export interface NewEvent {
  /** As in decisions 7, or `command.<name>`. */
  readonly type: string;
  /** The record whose row lock the caller holds. */
  readonly aggregateId: string;
  readonly accountId: string;
  readonly testMode: boolean;
  readonly object: EventObject;
  /** When it happened, by the customer's clock; the wall clock's time by default. */
  readonly at?: Date;
}

/**
 * Appends an event to the outbox in the transaction of the state change that it describes, and returns its id. The events of one aggregate
 * are numbered in ascending order: one after the other, and, once retention has deleted all events of the aggregate, behind the highest number that
 * it ever deleted. The lock on the aggregate's row, which every writer takes first, keeps the number free; the unique
 * constraint refuses the second of two writers if one forgot the lock.
 */
export async function append(tx: Tx, event: NewEvent): Promise<string> {
  const eventId = newId('event');
  const { type, aggregateId, accountId, testMode } = event;
  await tx.execute(insertOne, null, [eventId, aggregateId, type, accountId, testMode, encode(eventId, event)]);
  afterCommit(tx, () => wakeRelay(tx.database));
  return eventId;
}

/**
 * Appends the events of one change, as `append` does, with one statement. Their ids ascend in the order of the list, and so do the numbers of
 * those that share an aggregate.
 */
export async function appendAll(tx: Tx, events: readonly NewEvent[]): Promise<void> {
  const [first, second] = events;
  if (first === undefined) return;
  if (second === undefined) {
    await append(tx, first);
    return;
  }
  const eventIds = events.map(() => newId('event'));
  const payloads = events.map((event, index) => encode(eventIds[index] ?? '', event));
  const offsets: number[] = [];
  const countOf = new Map<string, number>();
  const positions: number[] = [];
  let offset = 1;
  for (const [index, { aggregateId }] of events.entries()) {
    offsets.push(offset);
    offset += payloads[index]?.length ?? 0;
    const position = (countOf.get(aggregateId) ?? 0) + 1;
    countOf.set(aggregateId, position);
    positions.push(position);
  }
  await tx.execute(insertSeveral, null, [
    eventIds,
    events.map(({ aggregateId }) => aggregateId),
    positions,
    events.map(({ type }) => type),
    events.map(({ accountId }) => accountId),
    events.map(({ testMode }) => testMode),
    offsets,
    payloads.map(({ length }) => length),
    Buffer.concat(payloads),
  ]);
  afterCommit(tx, () => wakeRelay(tx.database));
}

function encode(eventId: string, { type, aggregateId, accountId, testMode, object, at }: NewEvent): Buffer {
  const payload = toBinary(
    EventSchema,
    create(EventSchema, {
      eventId,
      type,
      accountId,
      testMode,
      aggregateId,
      occurredAtMs: BigInt((at ?? new Date()).getTime()),
      object,
      ...currentEventContext(),
    }),
  );
  return Buffer.from(payload.buffer, payload.byteOffset, payload.byteLength);
}

const insertOne = unscoped(
  'events.append',
  `insert into outbox (event_id, aggregate_id, aggregate_seq, type, account_id, test_mode, payload)
   values ($1, $2, 1 + coalesce((select max(aggregate_seq) from outbox where aggregate_id = $2), (select aggregate_seq from outbox_pruned)),
           $3, $4, $5, $6)`,
);
// The payloads travel as one binary value and are cut apart here: an array of bytes would travel as text, at twice the size.
// The arrays stand behind selects, so that one plan is kept for all of them (ADR 3).
const insertSeveral = unscoped(
  'events.append_all',
  `insert into outbox (event_id, aggregate_id, aggregate_seq, type, account_id, test_mode, payload)
   select e.event_id, e.aggregate_id,
          e.position + coalesce((select max(o.aggregate_seq) from outbox o where o.aggregate_id = e.aggregate_id),
                                (select aggregate_seq from outbox_pruned)),
          e.type, e.account_id, e.test_mode, substring($9::bytea from e.start for e.bytes)
   from unnest((select $1::text[]), (select $2::text[]), (select $3::int[]), (select $4::text[]), (select $5::text[]),
               (select $6::boolean[]), (select $7::int[]), (select $8::int[]))
        as e (event_id, aggregate_id, position, type, account_id, test_mode, start, bytes)`,
);
