/** One event on its way to one endpoint. */
export interface Delivery {
  readonly deliveryId: string;
  readonly webhookId: string;
  readonly eventId: string;
  readonly eventType: string;
  readonly status: 'pending' | 'succeeded' | 'exhausted';
  /** Attempts of the present round. */
  readonly attempts: number;
  readonly nextAttemptAt: Date | null;
  readonly lastResponseStatus: number | null;
  readonly lastError: string | null;
  readonly deliveredAt: Date | null;
  readonly createdAt: Date;
  readonly testMode: boolean;
}

/** A delivery in a process's hand, with all that it takes to send it; `epoch` is its lane's. */
export interface ClaimedDelivery {
  readonly deliveryId: string;
  readonly webhookId: string;
  readonly eventId: string;
  readonly eventType: string;
  readonly attempts: number;
  readonly epoch: number;
  /** When it was due as it was claimed; null if it was handed over. A retry that an account asks for sets an earlier or a later time. */
  readonly dueAt: Date | null;
  readonly url: string;
  /** Undefined for a large one, which is read when it is sent. */
  readonly body: Buffer | undefined;
  readonly requestId: string;
  readonly traceparent: string;
}

/** A delivery in hand and the sealed secrets that sign it, the oldest first. */
export interface DeliveryInHand extends ClaimedDelivery {
  readonly sealedSecrets: readonly string[];
}

/** Larger bodies are read when they are sent: thousands of deliveries may be in hand, and a few that are large are a gigabyte. Most have 2 kB. */
export const inlineBodyBytes = 32 * 1_024;

/** Deliveries that one transaction plans: some 70 ms, for which the events of other accounts wait. A batch of 64 events goes to 16 endpoints at once. */
export const mostPlanned = 1_024;

/** As many as one endpoint wants of all events that a consumer takes together. An account that took its share of the process has no more planned at once; an ordinary one has fewer, so its deliveries do not wait. */
export const fewPlanned = 64;

/** What became of one attempt. */
export interface AttemptResult {
  readonly deliveryId: string;
  readonly webhookId: string;
  readonly epoch: number;
  /** That of the claim. */
  readonly dueAt: Date | null;
  readonly startedAt: Date;
  readonly durationMs: number;
  readonly responseStatus: number | null;
  /** Why it failed; null after a success. */
  readonly error: string | null;
  /** When it is tried again; null when it succeeded or was the last one. */
  readonly nextAttemptAt: Date | null;
  /** Whether the failure says that the receiver is down. */
  readonly unreachable: boolean;
  /** Whether the receiver said that it is gone for good. */
  readonly gone: boolean;
}

/** Whether the attempt succeeded: 2xx and nothing else (decisions 8). */
export function isSuccess(result: AttemptResult): boolean {
  return result.error === null;
}
