import type { Neighbors } from './neighbors.ts';
import { nameOf, type TurnCaller } from './turn-caller.ts';
import { type Leave, type WaitingLimits, WaitingLines } from './waiting-lines.ts';

/** Bounds of an account's requests while its neighbors are short of time. */
export interface SharedLimits extends WaitingLimits {
  /** At work of one account. */
  readonly ofAccount: number;
  /** At work of one account that yields. */
  readonly ofYielding: number;
  /** How long a request counts as being at work. One that takes longer mostly waits for another server, such as the processor. */
  readonly countedMs: number;
}

/**
 * Requests that wait only while accounts are short of time. Each account then has a few of them at work, so that it is the number of accounts that shares the
 * process, and not how many requests each of them sends. None begins while the account is held back by a budget.
 */
export class SharedRequests {
  readonly #limits: SharedLimits;
  readonly #neighbors: Neighbors;
  readonly #isHeld: (caller: TurnCaller) => boolean;
  readonly #atWork = new Map<string, Set<Work>>();
  readonly #lines: WaitingLines;

  constructor(
    neighbors: Neighbors,
    limits: Partial<SharedLimits> = {},
    isHeld: (caller: TurnCaller) => boolean = () => false,
  ) {
    this.#limits = { ...defaultLimits, ...limits };
    this.#neighbors = neighbors;
    this.#isHeld = isHeld;
    this.#lines = new WaitingLines(neighbors, this.#limits, {
      mayBegin: (caller) => this.#mayBegin(caller),
      begin: (caller) => this.#begin(caller),
    });
  }

  /** Waits for the caller's turn. Returns the function that ends it. */
  enter(caller: TurnCaller): Leave | Promise<Leave> {
    return this.#lines.enter(caller);
  }

  #mayBegin(caller: TurnCaller): boolean {
    if (this.#isHeld(caller)) return false;
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
    const { now } = this.#neighbors;
    const work: Work = { sinceMs: now() };
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

const defaultLimits: SharedLimits = {
  // Eight shoppers who pay at the same time need eight.
  ofAccount: 8,
  // One slow request does not hold up all others.
  ofYielding: 2,
  countedMs: 500,
  // More than the 400 that the default rate limit lets through at once.
  waitingOfAccount: 512,
  // At worst, 40 requests of an account that yields begin in this time, and 160 of another one.
  longestWaitMs: 10_000,
};
