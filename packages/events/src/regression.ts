import { type Database, isUniqueViolation } from '@eligo/postgres';
import type { EventConnection } from './connection.ts';
import { type EventLogger, errorLabel } from './logger.ts';
import { streamOf } from './names.ts';
import { markPublished, readStreamMemory, rememberStream, unpublish } from './outbox.ts';
import { MAX_IN_FLIGHT, type Stored } from './publish-batch.ts';
import { noteRepair } from './repairs.ts';
import { applySettings, type StreamOptions, StreamRefused } from './stream-settings.ts';
import { createStream, findStream, recreateConsumers } from './streams.ts';

/** Watches over whether the stream still holds what it acknowledged, and repairs it from the outbox when it does not. */
export interface RegressionDetector {
  /**
   * At each (re)connect, before anything is published, and every ten seconds. Creates the stream when there is none, and makes one that was
   * made by another release be as this one has it.
   */
  inspect(): Promise<void>;
  /** Notes where events are stored, unless the places prove that the stream went back, which it then repairs. */
  record(stored: readonly Stored[]): Promise<void>;
}

/**
 * A JetStream directory may come back older than what was acknowledged from it (the server syncs every two minutes, and disks are restored).
 * Its consumers' positions may then lie beyond its end, and what is published next is given to nobody, without an error. The signs are: the
 * stream is missing, was created at another time, or ends before the last place that the outbox knows; or, when events were published before
 * anyone looked, a place that another event has. The remedy: every durable consumer begins anew, and everything that may be lost is
 * published again.
 */
export function regressionDetector(
  database: Database,
  connection: EventConnection,
  service: string,
  logger: EventLogger,
  options: StreamOptions = {},
): RegressionDetector {
  const stream = streamOf(service);
  let lastSeq = 0;

  async function inspect(): Promise<void> {
    const memory = await readStreamMemory(database, stream);
    lastSeq = memory.lastSeq;
    const found = await findStream(connection, service);
    if (found === undefined) {
      const { created } = await createStream(connection, service, options);
      if (memory.created !== undefined || memory.lastSeq > 0) await repair('missing', -1);
      await rememberStream(database, stream, created);
      return;
    }
    await applySettings(connection, service, found, options, logger);
    if (memory.created !== undefined && memory.created !== found.created) {
      await repair('recreated', -1);
      await rememberStream(database, stream, found.created);
    } else if (found.state.last_seq < memory.lastSeq) {
      await repair('gone back', found.state.last_seq);
    } else if (memory.created === undefined) {
      await rememberStream(database, stream, found.created);
    }
  }

  async function record(stored: readonly Stored[]): Promise<void> {
    if (stored.length === 0) return;
    // Only this relay publishes to this stream, so what is new comes after all that was.
    const reused = stored.filter(({ duplicate, streamSeq }) => !duplicate && streamSeq <= lastSeq);
    if (reused.length > 0) return repairFrom(reused);
    try {
      await markPublished(database, stored);
      lastSeq = Math.max(lastSeq, ...stored.map(({ streamSeq }) => streamSeq));
    } catch (error) {
      if (!isUniqueViolation(error, 'outbox_stream_seq')) throw error;
      await repairFrom(stored);
    }
  }

  // Acknowledgements of what was published just before may be lost with the connection: as many as can be in flight, and as many again.
  const repairFrom = (reused: readonly Stored[]) =>
    repair('gone back unseen', Math.min(...reused.map(({ streamSeq }) => streamSeq)) - 1 - 2 * MAX_IN_FLIGHT);

  // In this order: a repair that dies in between leaves the sign that it is needed.
  async function repair(how: string, kept: number): Promise<void> {
    const consumers = await recreateConsumers(connection, service);
    const events = await unpublish(database, Math.max(kept, 0));
    await noteRepair(database, { stream, how, keptSeq: kept, consumers, events });
    lastSeq = (await readStreamMemory(database, stream)).lastSeq;
    logger.error({ service, how, kept, consumers, events }, 'the stream has lost events; they are published again');
  }

  return { inspect, record };
}

/** Inspects, and on failure says so; the relay tries again. */
export async function inspectOrReport(
  detector: RegressionDetector,
  service: string,
  logger: EventLogger,
): Promise<boolean> {
  try {
    await detector.inspect();
    return true;
  } catch (error) {
    if (error instanceof StreamRefused) logger.error({ service }, `nothing is published: ${error.message}`);
    else logger.warn({ service, error: errorLabel(error) }, 'the stream could not be inspected');
    return false;
  }
}
