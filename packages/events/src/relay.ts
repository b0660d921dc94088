import { type Database, openSession, type Session } from '@eligo/postgres';
import type { EventConnection } from './connection.ts';
import { type EventLogger, errorLabel } from './logger.ts';
import { readUnpublished } from './outbox.ts';
import { publishBatch } from './publish-batch.ts';
import { inspectOrReport, type RegressionDetector, regressionDetector } from './regression.ts';
import type { StreamOptions } from './stream-settings.ts';
import { registerRelay, WAKE_CHANNEL } from './wake.ts';
import { Waker } from './waker.ts';

/** What a relay needs. */
export interface RelayOptions {
  readonly database: Database;
  readonly service: string;
  readonly connection: EventConnection;
  readonly logger: EventLogger;
  readonly stream?: StreamOptions;
  /** In place of the one that watches this service's stream; tests show with a blind one what it is for. */
  readonly detector?: RegressionDetector;
}

/** A running relay. */
export interface Relay {
  /** Whether this process's relay is the one that publishes. */
  isLeading(): boolean;
  stats(): { published: number; batches: number };
  /** Finishes the batch that is under way and stops. */
  stop(): Promise<void>;
}

/**
 * Publishes the service's outbox to its stream. Of all processes of a service one leads, by an advisory lock on a connection of its own; it
 * is woken by commits (a call or NOTIFY) and looks every 500 ms besides.
 */
export function startRelay(options: RelayOptions): Relay {
  const { database, service, connection, logger } = options;
  const detector = options.detector ?? regressionDetector(database, connection, service, logger, options.stream);
  const waker = new Waker();
  const counts = { published: 0, batches: 0 };
  let leading = false;
  let stopping = false;

  const running = (async () => {
    while (!stopping) {
      try {
        await leadOnce();
      } catch (error) {
        logger.warn({ service, error: errorLabel(error) }, 'the relay lost its session and begins anew');
      }
      if (!stopping) await waker.wait(RETRY_MS);
    }
  })();

  async function leadOnce(): Promise<void> {
    let alive = true;
    const session = await openSession(database, `relay ${service}`, () => waker.wake());
    void session.closed.then(() => {
      alive = false;
      waker.wake();
    });
    try {
      while (!stopping && alive && !(await tryToLead(session))) await waker.wait(RETRY_MS);
      if (stopping || !alive) return;
      await session.query(`listen ${WAKE_CHANNEL}`);
      const unregister = registerRelay(database, () => waker.wake());
      leading = true;
      try {
        await publishUntil(() => stopping || !alive);
      } finally {
        leading = false;
        unregister();
      }
    } finally {
      if (alive) await session.close();
    }
  }

  async function publishUntil(isOver: () => boolean): Promise<void> {
    let inspectedIncarnation = 0;
    let inspectedAt = 0;
    while (!isOver()) {
      if (!connection.isConnected()) {
        await waker.wait(POLL_MS);
        continue;
      }
      const incarnation = connection.incarnation();
      if (incarnation !== inspectedIncarnation || performance.now() - inspectedAt > INSPECT_MS) {
        if (!(await inspectOrReport(detector, service, logger))) {
          await waker.wait(POLL_MS);
          continue;
        }
        inspectedIncarnation = incarnation;
        inspectedAt = performance.now();
      }
      const rows = await readUnpublished(database, BATCH_ROWS);
      const stored = rows.length === 0 ? [] : await publishBatch(connection, service, rows, logger);
      await detector.record(stored);
      counts.published += stored.length;
      counts.batches += 1;
      // Nothing was taken: perhaps the stream is not there any more.
      if (rows.length > 0 && stored.length === 0) inspectedAt = Number.NEGATIVE_INFINITY;
      if (rows.length < BATCH_ROWS || stored.length === 0) await waker.wait(POLL_MS);
    }
  }

  return {
    isLeading: () => leading,
    stats: () => ({ ...counts }),
    async stop() {
      stopping = true;
      waker.wake();
      await running;
    },
  };
}

const BATCH_ROWS = 200;
const POLL_MS = 500;
const RETRY_MS = 500;
const INSPECT_MS = 10_000;

async function tryToLead(session: Session): Promise<boolean> {
  const [row] = await session.query<{ won: boolean }>(
    "select pg_try_advisory_lock(hashtextextended('eligo.relay.' || current_schema(), 0)) as won",
  );
  return row?.won === true;
}
