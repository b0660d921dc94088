import { afterCommit, type Tx } from '@eligo/postgres';
import { encodedEvents, type NewEvent, seqAfter } from './append.ts';
import { wakeRelay } from './wake.ts';

/**
 * SQL that appends events in the same statement as the change that they describe: a part of a `with`, in a scoped statement. It takes
 * `outboxValues` from parameter `$first` on, and writes them only if the part `from` has a row; `from` has one row at most. It numbers as
 * `append` does: the statement, or one before it, locks the aggregates' rows.
 */
export function outboxInsert(first: number, from: string): string {
  const [ids, aggregates, positions, types, starts, lengths, payloads] = Array.from(
    { length: outboxValueCount },
    (_, index) => `$${first + index}`,
  );
  return `insert into outbox (event_id, aggregate_id, aggregate_seq, type, account_id, test_mode, payload)
    select e.event_id, e.aggregate_id,
           e.position + ${seqAfter('e.aggregate_id')},
           e.type, $1, $2, substring(${payloads}::bytea from e.start for e.bytes)
    from ${from}, unnest(${ids}::text[], ${aggregates}::text[], ${positions}::int[], ${types}::text[], ${starts}::int[], ${lengths}::int[])
         as e (event_id, aggregate_id, position, type, start, bytes)`;
}

/** How many parameters `outboxInsert` takes. */
export const outboxValueCount = 7;

/** The values of `outboxInsert`; all events are of the statement's account and mode. */
export function outboxValues(events: readonly NewEvent[]): unknown[] {
  const { eventIds, aggregateIds, positions, types, starts, lengths, payloads } = encodedEvents(events);
  return [eventIds, aggregateIds, positions, types, starts, lengths, payloads];
}

/** Wakes the relay once this transaction has committed; for code that appends with `outboxInsert`. */
export function wakeRelayAfterCommit(tx: Tx): void {
  afterCommit(tx, () => wakeRelay(tx.database));
}
