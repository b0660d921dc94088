import type { Database } from '@eligo/postgres';
import type { ConsumerInfo } from 'nats';
import type { EventConnection } from './connection.ts';
import { subjectsOf } from './names.ts';
import { oldestUnpublished } from './outbox.ts';
import { knowsOwnStream } from './stream-owner.ts';
import { StreamRefused } from './stream-settings.ts';
import { consumersOf } from './streams.ts';

/** How far the handling of a service's events is behind its commits. */
export interface Progress {
  /** How long the oldest event has waited: to be published, and then to be given to the consumers that take every event. */
  readonly behindMs: number;
  /** Whether more is waiting than at the look before. */
  readonly isGrowing: boolean;
}

/**
 * Looks at the progress of the service's events; each look is one statement, which reads one row, and one question to NATS, whatever the backlog.
 * Consumers of a stream that is not this database's are not looked at: another installation's backlog is not its own.
 * A stage counts only while it moves: what waits for a NATS that is away, or for a consumer that does not run, is not mended by fewer events. The
 * wait for a consumer is measured between looks, by this process's clock.
 */
export function watchProgress(
  database: Database,
  connection: EventConnection,
  service: string,
  now = () => performance.now(),
): () => Promise<Progress> {
  const published = new Stage();
  const given = new Map<string, { readonly stage: Stage; readonly arrivals: Arrivals }>();
  let knownAt = 0;
  const ownConsumers = async (): Promise<ConsumerInfo[]> => {
    if (!connection.isConnected()) return [];
    const incarnation = connection.incarnation();
    if (incarnation !== knownAt && (await isOwnStream(database, connection, service))) knownAt = incarnation;
    return incarnation === knownAt ? consumersOfEverything(connection, service) : [];
  };
  return async () => {
    const [head, consumers] = await Promise.all([oldestUnpublished(database), ownConsumers()]);
    const at = now();
    const stages = [published.look(at, head?.event_id ?? '', head?.age_ms ?? 0, head?.age_ms ?? 0)];
    for (const { name, delivered, num_pending } of consumers) {
      const known = given.get(name) ?? { stage: new Stage(), arrivals: new Arrivals() };
      given.set(name, known);
      const waitedMs = known.arrivals.look(at, delivered.stream_seq, num_pending);
      stages.push(known.stage.look(at, String(delivered.stream_seq), waitedMs, num_pending));
    }
    const [first, ...rest] = stages;
    const slowest = rest.reduce((one, other) => (other.behindMs > one.behindMs ? other : one), atRest);
    if (first === undefined) return slowest;
    const longer = first.behindMs >= slowest.behindMs ? first : slowest;
    return { behindMs: first.behindMs + slowest.behindMs, isGrowing: longer.isGrowing };
  };
}

const atRest: Progress = { behindMs: 0, isGrowing: false };

/** One stage of the way: it moves as long as what is first in line changes. */
class Stage {
  #head = '';
  #movedAt = Number.NEGATIVE_INFINITY;
  #waiting = 0;

  look(at: number, head: string, behindMs: number, waiting: number): Progress {
    if (head !== this.#head) this.#movedAt = at;
    const isGrowing = waiting > this.#waiting;
    this.#head = head;
    this.#waiting = waiting;
    return at - this.#movedAt < stalledMs ? { behindMs, isGrowing } : atRest;
  }
}

/** When places of the stream came to be, as far as this process has seen it grow. */
class Arrivals {
  #seen: { readonly at: number; readonly last: number }[] = [];

  /** How long the next event after `delivered` has waited, at least; 0 when none waits. */
  look(at: number, delivered: number, pending: number): number {
    this.#seen = this.#seen.filter(({ last }) => last > delivered).slice(-mostLooks);
    this.#seen.push({ at, last: delivered + pending });
    return pending === 0 ? 0 : at - (this.#seen[0]?.at ?? at);
  }
}

// Under load events are published and given within milliseconds; a server that syncs its disk takes up to some hundreds.
const stalledMs = 1_000;
const mostLooks = 300;

async function isOwnStream(database: Database, connection: EventConnection, service: string): Promise<boolean> {
  try {
    return await knowsOwnStream(database, connection, service);
  } catch (error) {
    if (error instanceof StreamRefused) return false;
    throw error;
  }
}

// What takes a few of the types has few of the events.
async function consumersOfEverything(connection: EventConnection, service: string): Promise<ConsumerInfo[]> {
  const consumers = await consumersOf(connection, service);
  return consumers.filter(({ config }) => config.filter_subject === subjectsOf(service));
}
