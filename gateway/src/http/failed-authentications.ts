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

  /** Refuses a network that has failed too often, before anything is looked up for it. */
  async assertAllowed(network: string): Promise<void> {
    const seen = await this.#limiter.get(network);
    if (seen !== null && seen.consumedPoints >= this.#points) throw tooMany(seen.msBeforeNext);
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
