import { type Database, openSession } from '@eligo/postgres';
import type { EventConnection } from './connection.ts';
import { Leadership, type Leads } from './leadership.ts';
import { type EventLogger, errorLabel } from './logger.ts';
import { readQueue } from './outbox.ts';
import { publishBatch } from './publish-batch.ts';
import { inspectOrReport, type RegressionDetector, regressionDetector } from './regression.ts';
import { Repairer } from './repairer.ts';
import type { StreamOptions } from './stream-settings.ts';
import { REDRIVE_CHANNEL, registerRelay, WAKE_CHANNEL, wakeLocalRedrivers } from './wake.ts';
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
  /** For how long a repair waits for a consumer that handles less than ten events a second; tests wait less. */
  readonly repairPatienceMs?: number;
}

/** A running relay. */
export interface Relay {
  /** Whether this process's relay is the one that publishes. */
  isLeading(): boolean;
  /** Why the relay of this process does not use the stream; undefined when it does or does not lead. */
  refusal(): string | undefined;
  stats(): { published: number; batches: number };
  /** Finishes the current batch and stops. */
  stop(): Promise<void>;
}

/**
 * Publishes the service's outbox to its stream. Of all processes of a service one leads, by an advisory lock on a connection of its own; it
 * is woken by commits (a call or NOTIFY). It looks every ten seconds besides, since a process may die between its commit and its NOTIFY.
 * Before it publishes, and before it begins a repair, it has that connection prove that it still leads.
 * While the stream is repaired, every slice of the repair follows a look for new events.
 */
export function startRelay(options: RelayOptions): Relay {
  const { database, service, connection, logger } = options;
  let leadership: Leadership | undefined;
  const leads: Leads = { now: async () => leadership?.now(), lately: async () => leadership?.lately() };
  const detector = options.detector ?? regressionDetector(database, connection, service, logger, options.stream, leads);
  const patienceMs = options.repairPatienceMs;
  const repairer = new Repairer({ database, connection, service, logger, detector, leads, patienceMs });
  const waker = new Waker();
  const counts = { published: 0, batches: 0 };
  let refusal: string | undefined;
  let stopping = false;

  const running = (async () => {
    while (!stopping) {
      try {
        await leadOnce();
      } catch (error) {
        logger.warn({ service, error: errorLabel(error) }, 'Relay lost its database session; restarting it');
      }
      if (!stopping) await waker.wait(RETRY_MS);
    }
  })();

  async function leadOnce(): Promise<void> {
    let alive = true;
    let schema: string | undefined;
    const session = await openSession(database, `relay ${service}`, (channel, payload) => {
      if (payload !== schema) return;
      if (channel === REDRIVE_CHANNEL) wakeLocalRedrivers(database);
      else waker.wake();
    });
    void session.closed.then(() => {
      alive = false;
      waker.wake();
    });
    try {
      let won: Leadership | undefined;
      while (!stopping && alive && won === undefined) {
        won = await Leadership.take(session);
        if (won === undefined) await waker.wait(RETRY_MS);
      }
      if (stopping || !alive || won === undefined) return;
      await session.query(`listen ${WAKE_CHANNEL}`);
      await session.query(`listen ${REDRIVE_CHANNEL}`);
      [{ schema } = { schema }] = await session.query<{ schema: string }>('select current_schema() as schema');
      // What was requested before this process listened.
      wakeLocalRedrivers(database);
      const unregister = registerRelay(database, () => waker.wake());
      const held = won;
      leadership = held;
      try {
        await publishUntil(() => stopping || held.isOver);
      } finally {
        leadership = undefined;
        unregister();
      }
    } finally {
      if (alive) await session.close();
    }
  }

  async function publishUntil(isOver: () => boolean): Promise<void> {
    let inspectedIncarnation = 0;
    let inspectedAt = Number.NEGATIVE_INFINITY;
    let refusedInRow = 0;
    await repairer.look();
    while (!isOver()) {
      if (!connection.isConnected()) {
        await waker.wait(RETRY_MS);
        continue;
      }
      const incarnation = connection.incarnation();
      const begun = performance.now();
      if (incarnation !== inspectedIncarnation || begun - inspectedAt >= INSPECT_MS) {
        const inspection = await inspectOrReport(detector, inspectedIncarnation === 0, service, logger, refusal);
        refusal = inspection.refusal;
        const { isRepairNeeded } = inspection;
        if (isRepairNeeded === undefined) {
          await waker.wait(RETRY_MS);
          continue;
        }
        if (isRepairNeeded) await repairer.look();
        inspectedIncarnation = incarnation;
        inspectedAt = begun;
      }
      waker.reset();
      // A request to stop that came before is among what was forgotten.
      if (isOver()) return;
      const { rows, gone, isFull } = await readQueue(database);
      if (rows.length > 0) await leads.lately();
      const { stored } = rows.length === 0 ? { stored: [] } : await publishBatch(connection, service, rows, logger);
      if (await detector.record(stored, [...gone, ...stored.map(({ eventId }) => eventId)])) await repairer.look();
      counts.published += stored.length;
      counts.batches += 1;
      const isRefused = rows.length > 0 && stored.length === 0;
      // Nothing was taken: perhaps the stream is not there any more.
      if (isRefused) inspectedAt = Number.NEGATIVE_INFINITY;
      const repairMs = await repairer.step();
      refusedInRow = isRefused ? refusedInRow + 1 : 0;
      if (isRefused) await rest(Math.min(RETRY_MS * 2 ** (refusedInRow - 1), LONGEST_RETRY_MS), incarnation, isOver);
      else if (!isFull && repairMs !== 0) await waker.wait(repairMs ?? POLL_MS);
      // Under load more events have come meanwhile: a batch of them costs little more than one.
      if (!isFull && rows.length > 0 && repairMs === undefined) await gather(begun, rows.length);
    }
  }

  // New events do not end it: they would be refused as well. A reconnect does.
  async function rest(ms: number, incarnation: number, isOver: () => boolean): Promise<void> {
    const until = performance.now() + ms;
    while (!isOver() && performance.now() < until && connection.incarnation() === incarnation) {
      await new Promise((resolve) => setTimeout(resolve, Math.min(100, until - performance.now())));
    }
  }

  return {
    isLeading: () => leadership !== undefined,
    refusal: () => (leadership === undefined ? undefined : refusal),
    stats: () => ({ ...counts }),
    async stop() {
      stopping = true;
      waker.wake();
      await running;
    },
  };
}

const POLL_MS = 10_000;
const RETRY_MS = 500;
/** What a stream without room for events costs: a line of the log every five seconds. */
const LONGEST_RETRY_MS = 5_000;
const INSPECT_MS = 10_000;
/**
 * The least time from batch to batch while events keep coming, and the most that a batch of many events makes of it. Each batch costs its consumers a
 * transaction: at 800 events a second, batches of 50 ms take a tenth less of a confirm's processor time than those of 20. The first event after a pause is published at once.
 */
const GATHER_MS = 20;
const LONGEST_GATHER_MS = 50;
const GATHER_MS_PER_EVENT = 2;

async function gather(begun: number, events: number): Promise<void> {
  const gatherMs = Math.min(Math.max(GATHER_MS, events * GATHER_MS_PER_EVENT), LONGEST_GATHER_MS);
  const restMs = begun + gatherMs - performance.now();
  if (restMs > 0) await new Promise((resolve) => setTimeout(resolve, restMs));
}
