import type { Delivery } from './delivery.ts';

/** A public event as it is kept for 30 days and delivered. */
export interface StoredEvent {
  readonly eventId: string;
  readonly eventType: string;
  /** The whole public body; its bytes do not change from one attempt to the next. */
  readonly body: Buffer;
  readonly requestId: string;
  readonly traceparent: string;
  readonly occurredAt: Date;
  readonly createdAt: Date;
  readonly testMode: boolean;
}

/** An event that is kept from now on. */
export interface NewEvent extends StoredEvent {
  /** The record that it is about. */
  readonly recordId: string;
}

/** An event with what became of its deliveries. */
export interface EventOfRecord {
  readonly eventId: string;
  readonly eventType: string;
  readonly occurredAt: Date;
  readonly deliveries: readonly Delivery[];
}

/** How long events, and what became of them, are kept: as long as they can be retried (decisions 8). */
export const eventRetentionMs = 30 * 24 * 3_600_000;
