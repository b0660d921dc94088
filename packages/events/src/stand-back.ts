import type { ConsumerInfo } from 'nats';

/**
 * Whether a process leaves a consumer to others. Processes of two releases share a durable consumer while one replaces the other, and the one that wants fewer events must not take part: it would
 * acknowledge, or hold up, what only the other one wants. Once nobody has waited for events or been given any for a while, no other is left.
 */
export class StandBack {
  readonly #forMs: number;
  #last: { readonly givenSeq: number; readonly created: string; readonly sinceMs: number } | undefined;

  constructor(forMs: number) {
    this.#forMs = forMs;
  }

  /** To be asked again and again, with the consumer as it is now. */
  isFor({ num_waiting, delivered, created }: ConsumerInfo): boolean {
    const nowMs = performance.now();
    const { consumer_seq: givenSeq } = delivered;
    const last = this.#last;
    if (num_waiting === 0 && last?.givenSeq === givenSeq && last.created === created) {
      return nowMs - last.sinceMs < this.#forMs;
    }
    this.#last = { givenSeq, created, sinceMs: nowMs };
    return true;
  }

  /** The consumer is this process' own. */
  end(): void {
    this.#last = undefined;
  }
}
