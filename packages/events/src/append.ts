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
 * Appends an event to the outbox in the transaction of the state change that it tells of, and returns its id. Events of one aggregate are
 * numbered without gaps; that the number is free is given by the lock on the aggregate's row, which every writer of it takes first (if one
 * forgot, the unique constraint refuses the second).
 */
export async function append(tx: Tx, event: NewEvent): Promise<string> {
  const eventId = newId('event');
  const { type, aggregateId, accountId, testMode } = event;
  const payload = toBinary(
    EventSchema,
    create(EventSchema, {
      eventId,
      type,
      accountId,
      testMode,
      aggregateId,
      occurredAtMs: BigInt((event.at ?? new Date()).getTime()),
      object: event.object,
      ...currentEventContext(),
    }),
  );
  await tx.execute(insert, null, [
    eventId,
    aggregateId,
    type,
    accountId,
    testMode,
    Buffer.from(payload.buffer, payload.byteOffset, payload.byteLength),
  ]);
  afterCommit(tx, () => wakeRelay(tx.database));
  return eventId;
}

const insert = unscoped(
  'events.append',
  `insert into outbox (event_id, aggregate_id, aggregate_seq, type, account_id, test_mode, payload)
   values ($1, $2, 1 + coalesce((select max(aggregate_seq) from outbox where aggregate_id = $2), 0), $3, $4, $5, $6)`,
);
