import { NatsError } from 'nats';
import type { EventConnection } from './connection.ts';
import { type EventLogger, errorLabel } from './logger.ts';
import { streamOf, subjectOf } from './names.ts';
import { encodedEvent, type OutboxRow, type Place } from './outbox.ts';
import { eventIdAt } from './streams.ts';

/** An event that the server says it has stored. */
export interface Stored extends Place {
  readonly duplicate: boolean;
}

/** How many events may be on their way at once. */
export const MAX_IN_FLIGHT = 64;

/** What became of a batch. */
export interface Published {
  readonly stored: Stored[];
  /** Events that were sent and that the stream did not acknowledge. */
  readonly refused: number;
}

/**
 * Publishes the events, at most 64 in flight, those of one aggregate one after the other. What is not acknowledged in time is left out, with
 * what follows it in its aggregate: it may be stored or not, and is sent again under the same id. A "duplicate" is believed only when the
 * stream does hold the event in that place. Once the server says that it cannot store, the rest of the batch is not sent: a full disk does not
 * take one event of five hundred, and each try is a line in the server's log.
 */
export async function publishBatch(
  connection: EventConnection,
  service: string,
  rows: readonly OutboxRow[],
  logger: EventLogger,
): Promise<Published> {
  const stored: Stored[] = [];
  const refusals: { readonly eventId: string; readonly error: unknown }[] = [];
  let isBroken = false;
  const lines = [...Map.groupBy(rows, (row) => row.aggregate_id).values()].map((line) =>
    line.toSorted((a, b) => Number(a.aggregate_seq - b.aggregate_seq)),
  );
  let next = 0;
  const work = async (): Promise<void> => {
    for (
      let line = isBroken ? undefined : lines[next++];
      line !== undefined;
      line = isBroken ? undefined : lines[next++]
    ) {
      for (const row of line) {
        const place = await publish(connection, service, row, logger).catch((error: unknown) => {
          refusals.push({ eventId: row.event_id, error });
          isBroken ||= cannotStore(error);
          return undefined;
        });
        if (place === undefined) break;
        stored.push(place);
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(MAX_IN_FLIGHT, lines.length) }, work));
  const [first] = refusals;
  if (first !== undefined) {
    const { eventId, error } = first;
    logger.warn(
      { service, events: refusals.length, eventId, error: errorLabel(error) },
      'Stream did not acknowledge events; will retry',
    );
  }
  return { stored, refused: refusals.length };
}

// What a server answers that has no JetStream at the moment, or whose disk takes nothing.
function cannotStore(error: unknown): boolean {
  return error instanceof NatsError && error.code === '503';
}

async function publish(
  connection: EventConnection,
  service: string,
  row: OutboxRow,
  logger: EventLogger,
): Promise<Stored | undefined> {
  const ack = await connection.jetstream.publish(subjectOf(service, row.test_mode, row.type), encodedEvent(row), {
    msgID: row.event_id,
    // A missing stream is then an error, and not a lost message.
    expect: { streamName: streamOf(service) },
    timeout: 5_000,
  });
  if (ack.duplicate && (await eventIdAt(connection, service, ack.seq)) !== row.event_id) {
    logger.warn({ service, eventId: row.event_id }, 'Stream reported a duplicate for an event that it does not hold');
    return undefined;
  }
  return { eventId: row.event_id, streamSeq: ack.seq, duplicate: ack.duplicate };
}
