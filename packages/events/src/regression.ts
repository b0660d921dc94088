import { type Database, isUniqueViolation } from '@eligo/postgres';
import type { EventConnection } from './connection.ts';
import type { Leads } from './leadership.ts';
import { type EventLogger, errorLabel } from './logger.ts';
import { streamOf } from './names.ts';
import { hasEvent } from './outbox.ts';
import { lastPosition, recordPublished } from './positions.ts';
import { MAX_IN_FLIGHT, type Stored } from './publish-batch.ts';
import { beginRepair } from './repairs.ts';
import { rememberedStream, rememberStream } from './stream-memory.ts';
import { installationLabel, markOf, refuseForeignStream } from './stream-owner.ts';
import { applySettings, type StreamOptions, StreamRefused } from './stream-settings.ts';
import { createStream, eventIdAt, findStream, recreateConsumers } from './streams.ts';

/** Watches over whether the stream still holds what it acknowledged, and begins a repair from the outbox when it does not. */
export interface RegressionDetector {
  /**
   * When this process begins to lead (`isFirst`), at each reconnect, before anything is published, and every ten seconds. Creates the stream
   * when there is none, and makes one that was made by another release be as this one has it. Returns whether a repair was begun. Throws
   * `StreamRefused` if the database went back, and not the stream, or if the stream is another installation's.
   */
  inspect(isFirst?: boolean): Promise<boolean>;
  /**
   * Notes where events are stored and takes them out of the queue, unless the places prove that the stream went back: then it begins a repair
   * and returns true.
   */
  record(stored: readonly Stored[], dequeue: readonly string[]): Promise<boolean>;
}

/**
 * A JetStream directory may come back older than what was acknowledged from it (the server syncs every two minutes, and disks are restored).
 * Its consumers' positions may then lie beyond its end, and the next events are silently delivered to no consumer. The signs are: the
 * stream is missing, was created at another time, or ends before the last place that the outbox knows; or, when events were published before
 * the next inspection, a position that was taken before. The remedy: the affected durable consumers are recreated where the stream was
 * cut, and everything that may be lost is published again, by a repair. A relay that no longer leads would take the places of its
 * successor's events for a loss, so it proves that it leads before it begins one.
 */
export function regressionDetector(
  database: Database,
  connection: EventConnection,
  service: string,
  logger: EventLogger,
  options: StreamOptions = {},
  leads: Leads = alone,
): RegressionDetector {
  const stream = streamOf(service);
  let created: string | undefined;
  let installation: string | undefined;
  let lastSeq = 0;

  async function inspect(isFirst = true): Promise<boolean> {
    // Only the process that leads writes them down, so that it has to read them once.
    if (isFirst) {
      [created, lastSeq] = [await rememberedStream(database, stream), await lastPosition(database)];
      installation = await installationLabel(database);
    }
    const own = { ...options, mark: markOf(installation) };
    const found = await findStream(connection, service);
    if (found === undefined) {
      const made = await createStream(connection, service, own);
      if (created !== undefined || lastSeq > 0) return repair('missing', -1, made.created);
      await remember(made.created);
      return false;
    }
    await refuseForeignStream(database, connection, service, found, { installation, created });
    if (isFirst && created === found.created && found.state.last_seq > lastSeq)
      await refuseUnknown(found.state.last_seq);
    await applySettings(connection, service, found, own, logger);
    if (created !== undefined && created !== found.created) return repair('recreated', -1, found.created);
    if (found.state.last_seq < lastSeq) return repair('gone back', found.state.last_seq);
    if (created === undefined) await remember(found.created);
    return false;
  }

  /**
   * A database that was restored to an earlier moment knows neither its latest events, which consumers would act on, nor what consumers had handled
   * by then, which they are not given again. The sign is certain: what is published is in the outbox, and stays there at least until its place is noted.
   */
  async function refuseUnknown(place: number): Promise<void> {
    const eventId = await eventIdAt(connection, service, place);
    if (eventId === undefined || (await hasEvent(database, eventId))) return;
    throw new StreamRefused(
      `stream ${stream} holds event ${eventId}, which the database does not have. The database was restored to an earlier moment, or is a copy on the ` +
        'wrong NATS_URL. If it was restored, run: eligo events rebuild-streams',
    );
  }

  async function remember(time: string): Promise<void> {
    await rememberStream(database, stream, time);
    created = time;
  }

  async function record(stored: readonly Stored[], dequeue: readonly string[]): Promise<boolean> {
    // Slow acknowledgements outlive the proof from before the batch.
    if (stored.length > 0) await leads.lately();
    // Only this relay publishes to this stream, so what is new comes after all that was.
    const reused = stored.filter(({ duplicate, streamSeq }) => !duplicate && streamSeq <= lastSeq);
    if (reused.length > 0) return repairFrom(reused);
    try {
      await recordPublished(database, { stored, dequeue, lastSeq });
      lastSeq = Math.max(lastSeq, ...stored.map(({ streamSeq }) => streamSeq));
      return false;
    } catch (error) {
      if (!isUniqueViolation(error, 'places_ascend')) throw error;
      return repairFrom(stored);
    }
  }

  // Acknowledgements of what was published just before may be lost with the connection: as many as can be in flight, and as many again.
  const repairFrom = (reused: readonly Stored[]) =>
    repair('gone back unseen', Math.min(...reused.map(({ streamSeq }) => streamSeq)) - 1 - 2 * MAX_IN_FLIGHT);

  // In this order: a process that dies in between leaves the sign that a repair is needed.
  async function repair(how: string, keptSeq: number, createdNow?: string): Promise<true> {
    await leads.now();
    const consumers = await recreateConsumers(connection, service, keptSeq);
    await beginRepair(database, { stream, how, keptSeq, consumers, created: createdNow });
    if (createdNow !== undefined) created = createdNow;
    lastSeq = await lastPosition(database);
    logger.error({ service, how, kept: keptSeq, consumers }, 'Stream lost events; republishing them from the outbox');
    return true;
  }

  return { inspect, record };
}

/** Of a detector that no other process has beside it. */
const alone: Leads = { now: async () => undefined, lately: async () => undefined };

/** What came of an inspection: whether a repair was begun, or undefined when it failed; `refusal` says why the stream must not be used. */
export interface Inspection {
  readonly isRepairNeeded: boolean | undefined;
  readonly refusal?: string;
}

/** Inspects, and on failure says so; the relay tries again. A refusal that goes on is said once. */
export async function inspectOrReport(
  detector: RegressionDetector,
  isFirst: boolean,
  service: string,
  logger: EventLogger,
  toldRefusal: string | undefined,
): Promise<Inspection> {
  try {
    return { isRepairNeeded: await detector.inspect(isFirst) };
  } catch (error) {
    if (error instanceof StreamRefused) {
      if (error.message !== toldRefusal) logger.error({ service }, `Publishing is blocked: ${error.message}`);
      return { isRepairNeeded: undefined, refusal: error.message };
    }
    logger.warn({ service, error: errorLabel(error) }, 'Failed to inspect the stream; will retry');
    return { isRepairNeeded: undefined };
  }
}
