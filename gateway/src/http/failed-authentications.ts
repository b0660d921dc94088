import { Failure } from '@eligo/failures';
import { type Allowance, RateLimiter } from './rate-limiter.ts';

/**
 * Counts failed authentications by the network that they come from, so that guessing is slow and a flood of bad keys asks the database nothing
 * (decisions 10).
 */
export class FailedAuthentications {
  readonly #limiter = new RateLimiter();
  readonly #perSecond: number;

  constructor(perSecond: number) {
    this.#perSecond = perSecond;
  }

  /**
   * Looks up what may be a guess, unless its network has failed too often. It counts as failed until it is found, so that many at once are
   * as many. Throws 401 where nothing is found.
   */
  async lookUp<Found>(network: string, find: () => Promise<Found | undefined>): Promise<Found> {
    const allowance = this.#take(network);
    if (!allowance.allowed) throw tooMany(allowance);
    let isFailed = false;
    try {
      const found = await find();
      isFailed = found === undefined;
      if (found === undefined) throw new Failure('unauthorized');
      return found;
    } finally {
      if (!isFailed) this.#limiter.giveBack(network, this.#perSecond);
    }
  }

  /** The refusal of a failed authentication: always the same 401, or 429 past the limit. */
  refuse(network: string): Failure {
    const allowance = this.#take(network);
    return allowance.allowed ? new Failure('unauthorized') : tooMany(allowance);
  }

  // The process's own clock, as for every limit.
  #take(network: string): Allowance {
    return this.#limiter.take(network, this.#perSecond, performance.now());
  }
}

function tooMany({ retryAfterSeconds }: Allowance): Failure {
  return new Failure('rate_limited', { retryAfterSeconds });
}
