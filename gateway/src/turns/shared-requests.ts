import type { Neighbors } from './neighbors.ts';
import { nameOf, type TurnCaller } from './turn-caller.ts';
import { type Leave, WaitingLines } from './waiting-lines.ts';

/** Bounds of small requests while an account's neighbors are short of time. */
export interface SmallLimits {
  /** At work of one account. */
  readonly ofAccount: number;
  /** At work of one account that yields. */
  readonly ofYielding: number;
  /** How long a request counts as being at work. One that takes longer mostly waits for another server, such as the processor. */
  readonly countedMs: number;
  /** So many of one account wait before it is at its limits. */
  readonly crowdedFrom: number;
  /** Of one account that wait. */
  readonly waitingOfAccount: number;
  readonly longestWaitMs: number;
}

/**
 * All requests that are not dear. While accounts are short of time, each has a few of them at work, so that it is the number of accounts that shares the
 * process, and not how many requests each of them sends.
 */
export class SmallRequests {
  readonly #limits: SmallLimits;
  readonly #neighbors: Neighbors;
  readonly #atWork = new Map<string, Set<Work>>();
  readonly #lines: WaitingLines;

  constructor(neighbors: Neighbors, limits: Partial<SmallLimits> = {}) {
    this.#limits = { ...defaultLimits, ...limits };
    this.#neighbors = neighbors;
    this.#lines = new WaitingLines({
      ...this.#limits,
      mayBegin: (caller) => this.#mayBegin(caller),
      begin: (caller) => this.#begin(caller),
      crowded: (caller) => neighbors.isAtLimit(caller),
    });
  }

  /** Waits for the caller's turn. Answers what ends it. */
  enter(caller: TurnCaller): Leave | Promise<Leave> {
    return this.#lines.enter(caller);
  }

  #mayBegin(caller: TurnCaller): boolean {
    const own = this.#atWork.get(nameOf(caller));
    if (own === undefined || !this.#neighbors.areShort(caller.accountId)) return true;
    const { ofAccount, ofYielding, countedMs } = this.#limits;
    const most = this.#neighbors.yields(caller) ? ofYielding : ofAccount;
    if (own.size < most) return true;
    const countedSinceMs = this.#neighbors.now() - countedMs;
    for (const work of own) {
      if (work.sinceMs > countedSinceMs) break;
      own.delete(work);
    }
    return own.size < most;
  }

  #begin(caller: TurnCaller): Leave {
    const name = nameOf(caller);
    const own = this.#atWork.get(name) ?? new Set();
    const work: Work = { sinceMs: this.#neighbors.now() };
    own.add(work);
    this.#atWork.set(name, own);
    return () => {
      own.delete(work);
      if (own.size === 0 && this.#atWork.get(name) === own) this.#atWork.delete(name);
      this.#lines.letIn();
    };
  }
}

interface Work {
  readonly sinceMs: number;
}

// Eight shoppers who pay at the same time need eight.
const defaultLimits: SmallLimits = {
  ofAccount: 8,
  ofYielding: 1,
  countedMs: 1_000,
  crowdedFrom: 32,
  waitingOfAccount: 256,
  longestWaitMs: 4_000,
};
