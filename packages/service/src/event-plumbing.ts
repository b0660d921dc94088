import type { Database, Tx } from '@eligo/postgres';
import type { Event } from '@eligo/proto/events/v1/events';
import type { Logger } from './logger.ts';

/** A service's reaction to events of its peers: its inbox row and its effect commit in one transaction. */
export interface ConsumerDefinition {
  /** Its name on the bus and in the inbox. */
  readonly consumer: string;
  readonly subscriptions: readonly Subscription[];
  handle(tx: Tx, event: Event): Promise<void>;
}

/** Which events of a peer: their types, or '*' for all. */
export interface Subscription {
  readonly from: string;
  readonly types: readonly string[];
}

/** Something that runs until it is told to stop. */
export interface Stoppable {
  /** Resolves once what was under way has ended. */
  stop(): Promise<void>;
}

/** A service's side of the event bus. The one that @eligo/events gives is used unless a test brings another. */
export interface EventConnection {
  /** Rejects when the bus cannot be reached. */
  check(): Promise<void>;
  /** Publishes what the service's outbox holds. */
  startRelay(database: Database): Promise<Stoppable>;
  startConsumer(database: Database, definition: ConsumerDefinition): Promise<Stoppable>;
  /** Sends what is buffered and closes. */
  close(): Promise<void>;
}

/** Connects a service to the event bus. */
export type ConnectEvents = (options: {
  readonly service: string;
  readonly url: string;
  readonly logger: Logger;
  /** The connection is lost for good; the process must end and be started again. */
  readonly onClosed: (error: unknown) => void;
}) => Promise<EventConnection>;
