import { forget, type Neighbors, note } from './neighbors.ts';
import { nameOf, type TurnCaller } from './turn-caller.ts';
import { type Leave, type WaitingLimits, WaitingLines } from './waiting-lines.ts';

/** Bounds of an account's requests while its neighbors are short of time. */
export interface SharedLimits extends WaitingLimits {
  /** At work of one account. */
  readonly ofAccount: number;
  /** At work of one account that yields. */
  readonly ofYielding: number;
  /** At work of one account that a budget has held back lately: one for so many requests a second that its key may make, and one at least. */
  readonly perSecondOfHeld: number;
  /** How long ago that is at most. */
  readonly heldMs: number;
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
  readonly #heldAt = new Map<string, number>();
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
    const name = nameOf(caller);
    const nowMs = this.#neighbors.now();
    if (this.#isHeld(caller)) {
      forget(this.#heldAt, nowMs - this.#limits.heldMs);
      note(this.#heldAt, name, nowMs);
      return false;
    }
    const own = this.#atWork.get(name);
    if (own === undefined || !this.#neighbors.areShort(caller.accountId)) return true;
    const heldAtMs = this.#heldAt.get(name) ?? Number.NEGATIVE_INFINITY;
    const most = this.#mostOf(caller, heldAtMs > nowMs - this.#limits.heldMs);
    if (own.size < most) return true;
    const countedSinceMs = nowMs - this.#limits.countedMs;
    for (const work of own) {
      if (work.sinceMs > countedSinceMs) break;
      own.delete(work);
    }
    return own.size < most;
  }

  // What a request costs is known once it was worked on: all that begin at the moment in which a budget is refilled cost as much as the first one.
  #mostOf(caller: TurnCaller, isHeld: boolean): number {
    const { ofAccount, ofYielding, perSecondOfHeld } = this.#limits;
    const most = this.#neighbors.yields(caller) ? ofYielding : ofAccount;
    return isHeld ? Math.min(most, Math.max(1, Math.floor((caller.perSecond ?? 0) / perSecondOfHeld))) : most;
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

/** Of requests that read much: an account whose lists take more than its budget sends the next ones as soon as it is full again. */
export const heldMsOfExpensive = 60_000;

const defaultLimits: SharedLimits = {
  // Eight shoppers who pay at the same time need eight.
  ofAccount: 8,
  // One slow request does not hold up all others.
  ofYielding: 2,
  // A request of the default limit of a live key is at work for some fifty milliseconds, ten of which are the process'. One after the other take more than its share.
  perSecondOfHeld: 125,
  heldMs: 1_000,
  countedMs: 500,
  // More than the 400 that the default rate limit lets through at once.
  waitingOfAccount: 512,
  // At worst, 40 requests of an account that yields begin in this time, and 160 of another one.
  longestWaitMs: 10_000,
};
