import { fromBinary } from '@bufbuild/protobuf';
import { isConnectionLoss } from '@eligo/postgres';
import { type Event, EventSchema } from '@eligo/proto/events/v1/events';
import type { JsMsg } from 'nats';
import type { ConsumeOptions } from './consumer-definition.ts';
import { handleOnce, putAside } from './inbox.ts';
import { errorLabel } from './logger.ts';
import { typeOfSubject } from './names.ts';

/** What has become of the deliveries so far. */
export interface DeliveryCounts {
  readonly handled: number;
  /** Delivered again after they had been dealt with. */
  readonly repeated: number;
  readonly failed: number;
  readonly putAside: number;
}

/** Works off deliveries: so many at once, those of one aggregate in order. */
export class Deliveries {
  readonly #options: ConsumeOptions;
  readonly #running = new Set<Promise<void>>();
  readonly #lastOfAggregate = new Map<string, Promise<void>>();
  readonly #counts = { handled: 0, repeated: 0, failed: 0, putAside: 0 };

  constructor(options: ConsumeOptions) {
    this.#options = options;
  }

  /** Begins with a delivery once there is room for it. */
  async take(message: JsMsg, wanted: ReadonlySet<string> | undefined): Promise<void> {
    if (wanted !== undefined && !wanted.has(typeOfSubject(message.subject))) {
      message.ack();
      return;
    }
    const event = this.#decode(message);
    if (event === undefined) return;
    while (this.#running.size >= (this.#options.concurrency ?? 8)) await Promise.race(this.#running);
    const before = this.#lastOfAggregate.get(event.aggregateId);
    const work = (before ?? Promise.resolve()).then(() => this.#deal(message, event));
    this.#running.add(work);
    this.#lastOfAggregate.set(event.aggregateId, work);
    void work.then(() => {
      this.#running.delete(work);
      if (this.#lastOfAggregate.get(event.aggregateId) === work) this.#lastOfAggregate.delete(event.aggregateId);
    });
  }

  counts(): DeliveryCounts {
    return { ...this.#counts };
  }

  /** Settles when nothing is under way. */
  async idle(): Promise<void> {
    await Promise.all(this.#running);
  }

  // Never rejects: whatever happens, the server learns of it or delivers again.
  async #deal(message: JsMsg, event: Event): Promise<void> {
    const { database, consumer, handle, around } = this.#options;
    try {
      const run = async (): Promise<void> => {
        const isNew = await handleOnce(database, consumer, event, handle);
        this.#counts[isNew ? 'handled' : 'repeated'] += 1;
      };
      if (around === undefined) await run();
      else await around(event, run);
      message.ack();
    } catch (error) {
      this.#counts.failed += 1;
      await this.#fail(message, event, error);
    }
  }

  async #fail(message: JsMsg, event: Event, error: unknown): Promise<void> {
    const { database, consumer, service, logger, maxDeliveries = 20, retryDelayMs = backoffMs } = this.#options;
    const { deliveryCount } = message.info;
    const fields = {
      service,
      consumer,
      eventId: event.eventId,
      type: event.type,
      deliveryCount,
      error: errorLabel(error),
    };
    logger.warn(fields, 'an event was not dealt with');
    // A database that is away is no fault of the event's.
    if (deliveryCount >= maxDeliveries && !isConnectionLoss(error)) {
      try {
        await putAside(database, consumer, event, errorLabel(error), deliveryCount);
        this.#counts.putAside += 1;
        logger.error(fields, 'an event was put aside');
        message.term();
        return;
      } catch (failure) {
        logger.warn({ ...fields, error: errorLabel(failure) }, 'an event could not be put aside');
      }
    }
    message.nak(retryDelayMs(deliveryCount));
  }

  #decode(message: JsMsg): Event | undefined {
    const { service, consumer, logger } = this.#options;
    try {
      return fromBinary(EventSchema, message.data);
    } catch (error) {
      // The outbox still has it; giving it out again would change nothing.
      logger.error({ service, consumer, seq: message.seq, error: errorLabel(error) }, 'an event cannot be decoded');
      message.term();
      return undefined;
    }
  }
}

function backoffMs(deliveries: number): number {
  return Math.min(30_000, 100 * 2 ** Math.min(deliveries, 10)) * (0.75 + Math.random() / 2);
}
