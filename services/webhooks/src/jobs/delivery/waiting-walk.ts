import type { Database } from '@eligo/postgres';
import {
  type EndpointPlace,
  type EndpointsToSend,
  endpointsToRecover,
  endpointsToSend,
} from '../../store/waiting-endpoints.ts';

/** The endpoints that a sweep found, and in how many milliseconds the next sweep is wanted. */
export interface Found {
  readonly endpoints: readonly EndpointPlace[];
  readonly dueInMs: number | undefined;
}

/** How much one sweep reads. */
export interface WalkLimits {
  readonly endpointsOfPage: number;
  readonly mostPages: number;
  /** Found endpoints after which a sweep reads no other page. */
  readonly mostEndpoints: number;
}

/**
 * Goes through all endpoints for which deliveries wait, page by page. A sweep reads some pages; if there are more, the next sweep goes on where it ended, soon.
 * So a sweep does not grow with the endpoints that are down, and none of them stays behind the others.
 */
export class WaitingWalk {
  readonly #owner: string;
  readonly #limits: WalkLimits;
  #after: EndpointPlace | undefined;
  // Of the pages of this round, on the clock of `at`.
  #nextAt = Number.POSITIVE_INFINITY;

  constructor(owner: string, limits: Partial<WalkLimits> = {}) {
    this.#owner = owner;
    this.#limits = { ...defaultLimits, ...limits };
  }

  /** Finds endpoints to which this process may send at `at`. */
  async sweep(database: Database, at: Date): Promise<Found> {
    const { endpointsOfPage, mostPages, mostEndpoints } = this.#limits;
    if (this.#after === undefined) this.#nextAt = Number.POSITIVE_INFINITY;
    const lapsed = await endpointsToRecover(database, this.#owner, mostEndpoints);
    const endpoints = [...this.#take(lapsed, at)];
    for (let page = 0; page < mostPages && endpoints.length < mostEndpoints; page++) {
      const found = await endpointsToSend(database, at, this.#owner, endpointsOfPage, this.#after);
      endpoints.push(...this.#take(found, at));
      this.#after = found.last;
      if (this.#after === undefined) return { endpoints, dueInMs: this.#dueInMs(at) };
    }
    return { endpoints, dueInMs: pauseBetweenPartsMs };
  }

  #take({ endpoints, nextInMs }: EndpointsToSend, at: Date): readonly EndpointPlace[] {
    if (nextInMs !== undefined) this.#nextAt = Math.min(this.#nextAt, at.getTime() + nextInMs);
    return endpoints;
  }

  // Something on the first pages may have fallen due while the last ones were read.
  #dueInMs(at: Date): number | undefined {
    return Number.isFinite(this.#nextAt) ? Math.max(0, this.#nextAt - at.getTime()) : undefined;
  }
}

// A page takes some ten milliseconds. A sweep reads 10,000 endpoints, and goes on after a second: 100,000 endpoints that are down take one every ten
// seconds or more to look at, where the first retries come after five seconds and five minutes.
const defaultLimits: WalkLimits = { endpointsOfPage: 1_000, mostPages: 10, mostEndpoints: 5_000 };
const pauseBetweenPartsMs = 1_000;
