import type { Database } from '@eligo/postgres';
import { within } from '@eligo/values';
import type { EventConnection } from './connection.ts';
import { oldestUnpublished } from './outbox.ts';
import { findStream } from './streams.ts';

/** Why events do not get through, in words for the operator. */
export class EventsUnavailable extends Error {
  override readonly name = 'EventsUnavailable';
}

/**
 * Rejects when events do not get through: there is no connection, the stream does not answer within a second, or an event has waited for
 * fifteen seconds to be published. A server whose disk takes nothing stays connected and describes its streams as before, so only
 * the outbox tells; it tells the processes that do not publish as well.
 */
export async function checkEvents(connection: EventConnection, service: string, database: Database): Promise<void> {
  if (!connection.isConnected()) {
    const problem = connection.problem();
    throw new EventsUnavailable(problem === undefined ? 'NATS is disconnected' : `NATS is disconnected: ${problem}`);
  }
  // A stream that is missing is made by the relay.
  const [, oldest] = await Promise.all([
    within(answerMs, () => findStream(connection, service), isSilent),
    oldestUnpublished(database),
  ]);
  if ((oldest?.age_ms ?? 0) > longestWaitMs) throw new EventsUnavailable('Events are not published');
}

// Held-back writes keep it below half a second; a repair publishes new events first.
const longestWaitMs = 15_000;
const answerMs = 1_000;

const isSilent = () => new EventsUnavailable('JetStream does not answer');
