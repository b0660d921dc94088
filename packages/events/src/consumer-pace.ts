import type { EventConnection } from './connection.ts';
import { consumersOf } from './streams.ts';

/**
 * Says whether the consumers of a stream keep up with a repair. What a repair publishes stands in the stream before the events that are new: a
 * consumer that had thousands of them to handle first would be late with those. So a slice follows only when no consumer has more than 256
 * events before it, which take a consumer of 100 a second 2.5 s. One that has not moved for five seconds does not run, or fails on everything:
 * its events wait in any case, and it holds nobody up.
 */
export class ConsumerPace {
  readonly #connection: EventConnection;
  readonly #service: string;
  readonly #seen = new Map<string, { floor: number; pending: number; movedAt: number }>();

  constructor(connection: EventConnection, service: string) {
    this.#connection = connection;
    this.#service = service;
  }

  async isClear(): Promise<boolean> {
    const now = performance.now();
    const consumers = await consumersOf(this.#connection, this.#service);
    const names = new Set(consumers.map(({ name }) => name));
    for (const name of this.#seen.keys()) if (!names.has(name)) this.#seen.delete(name);
    let isClear = true;
    for (const { name, ack_floor, num_pending, num_ack_pending } of consumers) {
      const pending = num_pending + num_ack_pending;
      const before = this.#seen.get(name);
      const hasMoved = before === undefined || ack_floor.stream_seq > before.floor || num_pending < before.pending;
      const movedAt = hasMoved ? now : before.movedAt;
      this.#seen.set(name, { floor: ack_floor.stream_seq, pending: num_pending, movedAt });
      if (pending > MOST_PENDING && now - movedAt < STALLED_MS) isClear = false;
    }
    return isClear;
  }
}

const MOST_PENDING = 256;
const STALLED_MS = 5_000;
