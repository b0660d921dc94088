import type { IdKind } from '@eligo/values';
import type { ExampleReferences } from './example-bodies.ts';

/** A running Eligo and what the probes need to know of it. All keys but one are of the same account. */
export interface ProbeTarget {
  readonly url: string;
  /** Keys without a rate limit. */
  readonly testKey: string;
  readonly liveKey: string;
  /** A test key whose only scope is `charges_write`, which no route asks for. */
  readonly scopelessKey: string;
  /** A test key of another account. */
  readonly foreignKey: string;
  /** What opens something else than the interface, such as the tokens of pages. */
  readonly noKeys?: readonly string[];
  /** A record of each kind that a path can name, of the test key's account and mode. */
  readonly own: Readonly<Partial<Record<IdKind, string>>>;
  readonly references: ExampleReferences;
  /** Further records of a kind, for requests that end what they name. */
  readonly more?: Readonly<Partial<Record<IdKind, readonly string[]>>>;
  /** Records in the state that a route asks for, by the route's id. */
  readonly ready?: Readonly<Record<string, readonly string[]>>;
}

/** What a probe found. */
export interface ProbeReport {
  readonly requests: number;
  /** What was not as it should be, in words; empty when all is well. */
  readonly problems: readonly string[];
}

/** Collects what a probe finds. */
export class Findings {
  #requests = 0;
  readonly #problems: string[] = [];

  sent(count = 1): void {
    this.#requests += count;
  }

  expect(holds: boolean, problem: string): void {
    if (!holds) this.#problems.push(problem);
  }

  report(): ProbeReport {
    return { requests: this.#requests, problems: this.#problems };
  }
}

/**
 * The gateway gives its longest call up after 9.2 s. Where other programs take the processors, its answer comes some seconds later; that of a
 * request without a deadline does not come by then.
 */
export const latestAnswerMs = 15_000;
