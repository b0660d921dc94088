import type { ConsumerDefinition, Progress } from '@eligo/events';
import type { Database } from '@eligo/postgres';
import type { Logger } from './logger.ts';
import type { Metrics } from './metrics.ts';
import type { Tracing } from './tracing.ts';

/** Something that runs until it is stopped. */
export interface Stoppable {
  /** Resolves once what was in flight has ended. */
  stop(): Promise<void>;
}

/** A service's side of the event bus. */
export interface EventBus {
  /** Rejects when events do not get through, with `NotReady` where the reason is known. */
  check(database: Database): Promise<void>;
  /** Publishes what the service's outbox holds. */
  startRelay(database: Database): Stoppable;
  /** Looks how far the handling of what the service publishes is behind. A bus without it holds no write back. */
  watchProgress?(database: Database): () => Promise<Progress>;
  startConsumer(database: Database, definition: ConsumerDefinition): Stoppable;
  /** Sends what is buffered and closes. */
  close(): Promise<void>;
}

/** Connects a service to the event bus. */
export type ConnectEvents = (options: {
  readonly service: string;
  readonly url: string;
  /** A folder with the files of TLS to the bus. */
  readonly tlsFolder?: string | undefined;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly tracing: Tracing | undefined;
  /** Copies of the service's stream in a JetStream cluster. */
  readonly streamReplicas: number;
  /** The room on disk of the bus, for all streams of all services, where it is known. */
  readonly storeLimitBytes?: number | undefined;
  /** Told each reason why the bus is not reached, from the first failed try on. */
  readonly onUnreachable?: ((reason: string) => void) | undefined;
  /** The connection is lost for good; the process must end and be started again. */
  readonly onClosed: (error: unknown) => void;
}) => Promise<EventBus>;
