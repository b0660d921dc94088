import type { Database } from '@eligo/postgres';
import type { EventConnection } from './connection.ts';
import type { HandleEvent, HandleEvents } from './inbox.ts';
import type { EventLogger } from './logger.ts';

/** What a consumer takes from one producing service. */
export interface Subscription {
  readonly from: string;
  /** Event types, or `*` for all. */
  readonly types: readonly string[];
}

/** A consumer: which events it takes, and what it does with each. */
export interface ConsumerDefinition {
  /** Its name within the service: part of the durable's name and of the inbox's key, so it never changes. */
  readonly consumer: string;
  readonly subscriptions: readonly Subscription[];
  readonly handle: HandleEvent;
  /** Accounts whose events are handled concurrently in this process (8); events of one account and mode are always handled in order. */
  readonly concurrency?: number;
  /**
   * Handles several events of one account and mode in one transaction, in place of `handle` for each: for a consumer whose effect is one statement
   * for all of them. It runs under none of the events' request ids, so it must not append events of its own.
   */
  readonly handleAll?: HandleEvents;
}

/** What `consume` needs: the consumer, where it runs, and how it treats what fails. */
export interface ConsumeOptions extends ConsumerDefinition {
  readonly database: Database;
  readonly connection: EventConnection;
  readonly service: string;
  readonly logger: EventLogger;
  /** Failures after which an event becomes a dead letter (20). Database failures do not count. */
  readonly maxDeliveries?: number;
  /** The pause before an event that failed is delivered again, by the number of its deliveries. */
  readonly retryDelayMs?: (deliveries: number) => number;
  /** How often to poll for dead letters to redrive, unless a request wakes it (30,000 ms). */
  readonly redrivePollMs?: number;
  /** How often to look whether a process of another release has changed the consumer's filter (10,000 ms). */
  readonly filterCheckMs?: number;
  /** How long to wait at a stream that names no installation before saying that consuming is blocked (60,000 ms). */
  readonly unknownMs?: number;
  /** After this time without a process that takes events, one that wants fewer of them takes the consumer over (10,000 ms). */
  readonly standBackMs?: number;
  /** Runs around each handling: gives it the event's request id and trace. */
  readonly around?: (
    event: { requestId: string; traceparent: string; type: string },
    run: () => Promise<void>,
  ) => Promise<void>;
}
