import { create, toBinary } from '@bufbuild/protobuf';
import { afterCommit, isSameScope, joinedBytes, type Scope, scoped, type Tx, unscoped } from '@eligo/postgres';
import { type Event, EventSchema } from '@eligo/proto/events/v1/events';
import { newId } from '@eligo/values';
import { currentEventContext } from './event-context.ts';
import { largestPayloadBytes } from './event-size.ts';
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
  const { eventId, type, aggregateId, accountId, testMode, payload } = encodeEvent(event);
  const values = [eventId, aggregateId, type, payload];
  const scope = { accountId, testMode };
  if (isOwnScope(tx, scope)) assertAppended(await tx.execute(insertOneOwn, scope, values), 1);
  else await tx.execute(insertOne, null, [...values, accountId, testMode]);
  wakeRelayAfterCommit(tx);
  return eventId;
}

/**
 * Appends the events of one change, as `append` does, with one statement. Their ids ascend in the order of the list, and so do the numbers of
 * those that share an aggregate.
 */
export async function appendAll(tx: Tx, events: readonly NewEvent[]): Promise<void> {
  const [first, second] = events;
  if (first === undefined) return;
  if (second === undefined) await append(tx, first);
  else await appendEncoded(tx, events.map(encodeEvent));
}

/** The same of events that were encoded before, in the context of the request that each belongs to. */
export async function appendEncoded(tx: Tx, events: readonly EncodedEvent[]): Promise<void> {
  const [first] = events;
  if (first === undefined) return;
  const values = encodedOutboxValues(events);
  const scope = { accountId: first.accountId, testMode: first.testMode };
  const isOwn = isOwnScope(tx, scope) && events.every((event) => isSameScope(event, scope));
  if (isOwn) assertAppended(await tx.execute(insertSeveralOwn, scope, values), events.length);
  else {
    const accounts = events.map(({ accountId }) => accountId);
    const modes = events.map(({ testMode }) => testMode);
    await tx.execute(insertSeveral, null, [...values, accounts, modes]);
  }
  wakeRelayAfterCommit(tx);
}

/**
 * SQL that appends events in the same statement as the change that they describe: a part of a `with`, in a scoped statement. It takes
 * `encodedOutboxValues` from parameter `$first` on, and writes each event for which the part `from` has a row: its only row, or the one that `on` finds by
 * the aggregate. It numbers as `append` does: the statement, or one before it, locks the aggregates' rows.
 */
export function outboxInsert(first: number, from: string, on?: (aggregate: string) => string): string {
  const [ids, aggregates, positions, types, starts, lengths, payloads] = [0, 1, 2, 3, 4, 5, 6].map(
    (index) => `$${first + index}`,
  );
  return `${into}
    select e.event_id, e.aggregate_id, e.position + ${seqAfter('e.aggregate_id')}, e.type,
           substring(${payloads}::bytea from e.start for e.bytes), $1, $2
    from ${from}, unnest(${ids}::text[], ${aggregates}::text[], ${positions}::int[], ${types}::text[], ${starts}::int[], ${lengths}::int[])
         as e (event_id, aggregate_id, position, type, start, bytes)${on === undefined ? '' : ` where ${on('e.aggregate_id')}`}`;
}

/** Wakes the relay once this transaction has committed; for code that appends with `outboxInsert`. */
export function wakeRelayAfterCommit(tx: Tx): void {
  afterCommit(tx, () => wakeRelay(tx.database));
}

/** An event with its id and its bytes, ready to be appended. */
export interface EncodedEvent extends Pick<NewEvent, 'type' | 'aggregateId' | 'accountId' | 'testMode'> {
  readonly eventId: string;
  readonly payload: Buffer;
}

/** Gives an event its id and encodes it, with the request and the trace of the present context. */
export function encodeEvent(event: NewEvent): EncodedEvent {
  const { type, aggregateId, accountId, testMode } = event;
  const eventId = newId('event');
  return { type, aggregateId, accountId, testMode, eventId, payload: payloadOf(eventId, event) };
}

/** The values of `outboxInsert`: events of the statement's account and mode as columns of the outbox. */
export function encodedOutboxValues(events: readonly EncodedEvent[]): unknown[] {
  const payloads = joinedBytes(events.map(({ payload }) => payload));
  const countOf = new Map<string, number>();
  /** Of each event among those of its aggregate, from 1. */
  const positions: number[] = [];
  for (const { aggregateId } of events) {
    const position = (countOf.get(aggregateId) ?? 0) + 1;
    countOf.set(aggregateId, position);
    positions.push(position);
  }
  return [
    events.map(({ eventId }) => eventId),
    events.map(({ aggregateId }) => aggregateId),
    positions,
    events.map(({ type }) => type),
    payloads.starts,
    payloads.lengths,
    payloads.bytes,
  ];
}

function payloadOf(eventId: string, { type, aggregateId, accountId, testMode, object, at }: NewEvent): Buffer {
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
  // The bus would refuse it forever: the change that it tells of fails instead.
  if (payload.length > largestPayloadBytes) throw new RangeError(`${type} of ${payload.length} bytes is too large`);
  return Buffer.from(payload.buffer, payload.byteOffset, payload.byteLength);
}

function isOwnScope(tx: Tx, scope: Scope): boolean {
  return tx.scope !== null && isSameScope(tx.scope, scope);
}

// Without the transaction's BEGIN the statement finds no account in its settings and writes nothing.
function assertAppended(written: number, expected: number): void {
  if (written !== expected) throw new Error(`Only ${written} of ${expected} events were appended`);
}

// SQL for the number of an aggregate's last event; of one whose events are all pruned, a number that none of them had.
const seqAfter = (aggregate: string) =>
  `coalesce((select max(o.aggregate_seq) from outbox o where o.aggregate_id = ${aggregate}), (select aggregate_seq from outbox_pruned))`;
const into = 'insert into outbox (event_id, aggregate_id, aggregate_seq, type, payload, account_id, test_mode)';
// The outbox has no row-level security. This condition lets a statement leave together with BEGIN: if BEGIN fails, it writes nothing.
const inItsTransaction = `current_setting('eligo.account_id', true) = $1 and current_setting('eligo.test_mode', true) = $2::boolean::text`;

const insertOne = unscoped('events.append', `${into} values ($1, $2, 1 + ${seqAfter('$2')}, $3, $4, $5, $6)`);
const insertOneOwn = scoped<never>(
  'events.append_own',
  `${into} select $3, $4, 1 + ${seqAfter('$4')}, $5, $6, $1, $2 where ${inItsTransaction}`,
);
// The payloads travel as one binary value and are cut apart here: an array of bytes would travel as text, at twice the size.
// The arrays stand behind selects, so that one plan is kept for all of them (ADR 3).
const insertSeveral = unscoped(
  'events.append_all',
  `${into}
   select e.event_id, e.aggregate_id, e.position + ${seqAfter('e.aggregate_id')}, e.type,
          substring($7::bytea from e.start for e.bytes), e.account_id, e.test_mode
   from unnest((select $1::text[]), (select $2::text[]), (select $3::int[]), (select $4::text[]), (select $5::int[]),
               (select $6::int[]), (select $8::text[]), (select $9::boolean[]))
        as e (event_id, aggregate_id, position, type, start, bytes, account_id, test_mode)`,
);
const insertSeveralOwn = scoped<never>(
  'events.append_all_own',
  outboxInsert(3, `(select where ${inItsTransaction}) own`),
);
