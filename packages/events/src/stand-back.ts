import type { ConsumerInfo } from 'nats';

/**
 * Whether a process leaves a consumer to others. Processes of two releases share a durable consumer while one replaces the other, and the one that wants fewer events must not take part: it would
 * acknowledge, or hold up, what only the other one wants. Once nobody has waited for events or been given any for a while, no other is left.
 */
export class StandBack {
  readonly #forMs: number;
  #last: Look | undefined;

  constructor(forMs: number) {
    this.#forMs = forMs;
  }

  /** To be asked again and again, with the consumer as it is now. Time in which it was not asked does not count: others may have taken events. */
  isFor({ num_waiting, delivered, created }: ConsumerInfo): boolean {
    const atMs = performance.now();
    const { consumer_seq: givenSeq } = delivered;
    const last = this.#last;
    const isIdle =
      num_waiting === 0 &&
      last?.givenSeq === givenSeq &&
      last.created === created &&
      atMs - last.atMs <= longestBetweenLooksMs;
    const sinceMs = isIdle ? last.sinceMs : atMs;
    this.#last = { givenSeq, created, sinceMs, atMs };
    return !isIdle || atMs - sinceMs < this.#forMs;
  }

  /** The consumer is this process' own. */
  end(): void {
    this.#last = undefined;
  }
}

interface Look {
  readonly givenSeq: number;
  readonly created: string;
  /** Since when no process has taken events. */
  readonly sinceMs: number;
  readonly atMs: number;
}

/** Looks are a second apart while NATS answers. */
const longestBetweenLooksMs = 3_000;
