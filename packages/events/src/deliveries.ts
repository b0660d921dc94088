import { fromBinary } from '@bufbuild/protobuf';
import { type Event, EventSchema } from '@eligo/proto/events/v1/events';
import type { ConsumeOptions } from './consumer-definition.ts';
import { FailureCounter } from './failure-counter.ts';
import { deadLetter, eachOf, type HandleEvents, handleTogether } from './inbox.ts';
import { errorLabel } from './logger.ts';
import type { Pulled } from './pulled.ts';
import { isTransientFailure } from './transient-failure.ts';

/** What has become of the deliveries so far. */
export interface DeliveryCounts {
  readonly handled: number;
  /** Redelivered after they had been handled. */
  readonly repeated: number;
  readonly failed: number;
  readonly deadLettered: number;
}

/**
 * Handles deliveries. Those of one account and mode are handled in order, and all that have arrived meanwhile in one transaction: a
 * commit costs more than the effect of an event. Several accounts are worked on at once.
 */
export class Deliveries {
  readonly #options: ConsumeOptions;
  readonly #waiting: Delivery[] = [];
  readonly #running = new Map<string, Promise<void>>();
  readonly #counts = { handled: 0, repeated: 0, failed: 0, deadLettered: 0 };
  readonly #failures = new FailureCounter();
  #isBeginning = false;

  constructor(options: ConsumeOptions) {
    this.#options = options;
  }

  /** Begins with a delivery once it is its turn; waits while too many do. */
  async take(pulled: Pulled): Promise<void> {
    const event = this.#decode(pulled);
    if (event === undefined) return;
    this.#waiting.push({ pulled, event, lane: `${event.accountId} ${event.testMode}` });
    this.#beginSoon();
    while (this.#waiting.length >= mostWaiting) {
      this.#begin();
      await Promise.race(this.#running.values());
    }
  }

  counts(): DeliveryCounts {
    return { ...this.#counts };
  }

  /** Settles when nothing is in flight. */
  async idle(): Promise<void> {
    this.#begin();
    while (this.#running.size > 0) await Promise.all(this.#running.values());
  }

  // Those that came with the same packet are taken first, so that they share a transaction.
  #beginSoon(): void {
    if (this.#isBeginning) return;
    this.#isBeginning = true;
    setImmediate(() => {
      this.#isBeginning = false;
      this.#begin();
    });
  }

  #begin(): void {
    while (this.#running.size < (this.#options.concurrency ?? 8)) {
      const next = this.#waiting.find(({ lane }) => !this.#running.has(lane));
      if (next === undefined) return;
      const { lane } = next;
      const work = this.#dealWith(this.#takeBatch(lane)).then(() => {
        this.#running.delete(lane);
        this.#begin();
      });
      this.#running.set(lane, work);
    }
  }

  // An event that failed before is handled alone, so that it does not fail others.
  #takeBatch(lane: string): Delivery[] {
    const batch: Delivery[] = [];
    for (const delivery of this.#waiting) {
      if (delivery.lane !== lane) continue;
      const isAlone = delivery.pulled.message.info.deliveryCount > 1;
      if (isAlone && batch.length > 0) break;
      batch.push(delivery);
      if (isAlone || batch.length === largestBatch) break;
    }
    const taken = new Set(batch);
    this.#waiting.splice(0, this.#waiting.length, ...this.#waiting.filter((delivery) => !taken.has(delivery)));
    return batch;
  }

  // Never rejects: whatever happens, the server learns of it or delivers again.
  async #dealWith(batch: readonly Delivery[]): Promise<void> {
    try {
      await this.#handle(batch);
    } catch (error) {
      const [only, ...more] = batch;
      if (only !== undefined && more.length === 0) return this.#fail(only, error);
      // The next ones would wait as long for the same lock or the same server. All are delivered again, each is then handled alone.
      if (isTransientFailure(error)) {
        for (const delivery of batch) await this.#fail(delivery, error);
        return;
      }
      // One of them fails: handle each on its own.
      for (const delivery of batch) await this.#dealWith([delivery]);
    }
  }

  async #handle(batch: readonly Delivery[]): Promise<void> {
    const { database, consumer } = this.#options;
    const [first, ...rest] = batch.map(({ event }) => event);
    if (first === undefined) return;
    const areNew = await handleTogether(database, consumer, [first, ...rest], handlerOf(this.#options));
    for (const isNew of areNew) this.#counts[isNew ? 'handled' : 'repeated'] += 1;
    for (const { pulled, event } of batch) {
      this.#failures.forget(event.eventId);
      this.#acknowledge(pulled, () => pulled.message.ack());
    }
  }

  async #fail({ pulled, event }: Delivery, error: unknown): Promise<void> {
    const { database, consumer, service, logger, maxDeliveries = 20, retryDelayMs = backoffMs } = this.#options;
    this.#counts.failed += 1;
    const { deliveryCount } = pulled.message.info;
    const fields = {
      service,
      consumer,
      eventId: event.eventId,
      type: event.type,
      deliveryCount,
      error: errorLabel(error),
    };
    logger.warn(fields, 'Consumer failed to handle an event');
    // A slow or unavailable database is not the event's fault.
    const isAtFault = !isTransientFailure(error);
    if (isAtFault && this.#failures.add(event.eventId) >= maxDeliveries) {
      try {
        await deadLetter(database, consumer, event, errorLabel(error), deliveryCount);
        this.#counts.deadLettered += 1;
        this.#failures.forget(event.eventId);
        logger.error(fields, 'Event moved to dead letters');
        this.#acknowledge(pulled, () => pulled.message.term());
        return;
      } catch (failure) {
        logger.warn({ ...fields, error: errorLabel(failure) }, 'Failed to dead-letter an event; will retry');
      }
    }
    this.#answer(() => pulled.message.nak(retryDelayMs(deliveryCount)));
  }

  #acknowledge({ mayAcknowledge }: Pulled, send: () => void): void {
    if (mayAcknowledge()) this.#answer(send);
  }

  // A connection that is closed takes none. The event is then given to someone again, and the inbox knows what became of it here.
  #answer(send: () => void): void {
    const { service, consumer, logger } = this.#options;
    try {
      send();
    } catch (error) {
      logger.warn(
        { service, consumer, error: errorLabel(error) },
        'Failed to acknowledge an event; the server will redeliver it',
      );
    }
  }

  #decode(pulled: Pulled): Event | undefined {
    const { service, consumer, logger } = this.#options;
    try {
      return fromBinary(EventSchema, pulled.message.data);
    } catch (error) {
      // The outbox still has it; giving it out again would change nothing.
      logger.error(
        { service, consumer, seq: pulled.message.seq, error: errorLabel(error) },
        'Event cannot be decoded; discarded',
      );
      this.#acknowledge(pulled, () => pulled.message.term());
      return undefined;
    }
  }
}

// Together, each event has its span around all of the work.
function handlerOf({ handle, handleAll, around }: ConsumeOptions): HandleEvents {
  if (handleAll === undefined) {
    return eachOf((tx, event) => (around === undefined ? handle(tx, event) : around(event, () => handle(tx, event))));
  }
  if (around === undefined) return handleAll;
  return async (tx, events) => {
    const work = handleAll(tx, events);
    await Promise.all(events.map((event) => around(event, () => work)));
  };
}

interface Delivery {
  readonly pulled: Pulled;
  readonly event: Event;
  /** Its account and mode. */
  readonly lane: string;
}

/** As many effects as one transaction may take together; a few milliseconds of locks. */
const largestBatch = 64;
/** What waits here must be acknowledged within the consumer's deadline. */
const mostWaiting = 64;

function backoffMs(deliveries: number): number {
  return Math.min(30_000, 100 * 2 ** Math.min(deliveries, 10)) * (0.75 + Math.random() / 2);
}
