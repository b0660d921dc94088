import { Failure } from '@eligo/failures';
import { RateLimiterMemory } from 'rate-limiter-flexible';
import { burstSeconds } from './rate-limiter.ts';

/**
 * Counts failed authentications by the network that they come from, so that guessing is slow and a flood of bad keys asks the database nothing
 * (decisions 10).
 */
export class FailedAuthentications {
  readonly #limiter: RateLimiterMemory;
  readonly #points: number;

  constructor(perSecond: number) {
    this.#points = perSecond * burstSeconds;
    this.#limiter = new RateLimiterMemory({ points: this.#points, duration: burstSeconds });
  }

  /**
   * Looks up what may be a guess, unless its network has failed too often. It counts as failed until it is found, so that many at once are
   * as many. Throws 401 where nothing is found.
   */
  async lookUp<Found>(network: string, find: () => Promise<Found | undefined>): Promise<Found> {
    const seen = await this.#limiter.penalty(network, 1);
    if (seen.consumedPoints > this.#points) throw tooMany(seen.msBeforeNext);
    let isFailed = false;
    try {
      const found = await find();
      isFailed = found === undefined;
      if (found === undefined) throw new Failure('unauthorized');
      return found;
    } finally {
      if (!isFailed) await this.#limiter.reward(network, 1);
    }
  }

  /** The refusal of a failed authentication: always the same 401, or 429 past the limit. */
  async refuse(network: string): Promise<Failure> {
    const seen = await this.#limiter.penalty(network, 1);
    return seen.consumedPoints > this.#points ? tooMany(seen.msBeforeNext) : new Failure('unauthorized');
  }
}

function tooMany(waitMs: number): Failure {
  return new Failure('rate_limited', { retryAfterSeconds: Math.max(1, Math.ceil(waitMs / 1_000)) });
}
