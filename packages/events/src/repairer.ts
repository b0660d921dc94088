import type { Database } from '@eligo/postgres';
import type { EventConnection } from './connection.ts';
import { ConsumerPace } from './consumer-pace.ts';
import type { Leads } from './leadership.ts';
import { type EventLogger, errorLabel } from './logger.ts';
import { streamOf } from './names.ts';
import { publishBatch } from './publish-batch.ts';
import type { RegressionDetector } from './regression.ts';
import { advanceRepair, finishRepair, type OpenRepair, openRepair, readSlice, SLICE_ROWS } from './repairs.ts';
import { consumersOf } from './streams.ts';

/** What a repairer needs. */
export interface RepairerOptions {
  readonly database: Database;
  readonly connection: EventConnection;
  readonly service: string;
  readonly logger: EventLogger;
  readonly detector: RegressionDetector;
  readonly leads: Leads;
  /** For how long the repair waits for a consumer that handles less than ten events a second; five minutes by default. */
  readonly patienceMs?: number | undefined;
}

/**
 * Carries out the stream repair in progress, a slice of the outbox at a time, so that the relay publishes new events in between. How
 * far it has come is stored in the database: the leader after a crash continues from there.
 */
export class Repairer {
  readonly #options: RepairerOptions;
  readonly #pace: ConsumerPace;
  #repair: OpenRepair | undefined;
  #notBefore = 0;

  constructor(options: RepairerOptions) {
    this.#options = options;
    const { connection, service, patienceMs } = options;
    this.#pace = new ConsumerPace(() => consumersOf(connection, service), { patienceMs });
  }

  /** Looks for a repair in progress: when this process begins to lead, and when one was begun. */
  async look(): Promise<void> {
    const { database, service } = this.#options;
    this.#repair = await openRepair(database, streamOf(service));
  }

  /** Publishes the next slice; returns after how many milliseconds there is more to do, or undefined when no repair is in progress. */
  async step(): Promise<number | undefined> {
    const repair = this.#repair;
    if (repair === undefined) return undefined;
    const early = this.#notBefore - performance.now();
    if (early > 0) return early;
    try {
      return await this.#publishSlice(repair);
    } catch (error) {
      // New events go on being published meanwhile.
      const { service, logger } = this.#options;
      logger.warn({ service, error: errorLabel(error) }, 'Stream repair failed; will retry');
      return this.#pause(RETRY_MS);
    }
  }

  async #publishSlice(repair: OpenRepair): Promise<number | undefined> {
    const room = await this.#pace.room(SLICE_ROWS);
    if (room === 0) return this.#pause(PACE_MS);
    const { database, connection, service, logger, detector, leads } = this.#options;
    const slice = await readSlice(database, repair, room);
    if (slice.lastEventId === undefined) {
      await finishRepair(database, repair);
      logger.info({ service }, 'Stream repair finished');
      await this.look();
      return this.#repair && 0;
    }
    await leads.lately();
    const { stored } = await publishBatch(connection, service, slice.rows, logger);
    if (await detector.record(stored, [])) {
      await this.look();
      return this.#pause(RETRY_MS);
    }
    // The server still takes some for duplicates that it lost, or did not answer: the same slice again, under the same ids.
    if (stored.length < slice.rows.length) return this.#pause(RETRY_MS);
    await advanceRepair(database, repair, slice.lastEventId, slice.rows.length);
    this.#repair = { ...repair, afterEventId: slice.lastEventId };
    return 0;
  }

  #pause(ms: number): number {
    this.#notBefore = performance.now() + ms;
    return ms;
  }
}

/** How soon the consumers are checked again while they are busy: the fastest handle some 50 events meanwhile. */
const PACE_MS = 20;
const RETRY_MS = 1_000;
