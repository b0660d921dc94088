import type { Neighbors } from './neighbors.ts';
import { Rests } from './rests.ts';
import type { TurnCaller } from './turn-caller.ts';
import { type Leave, type WaitingLimits, WaitingLines } from './waiting-lines.ts';

/** Bounds of dear requests. */
export interface DearLimits extends WaitingLimits {
  /** At work over all accounts; of one account, one. */
  readonly atOnce: number;
}

/**
 * Requests whose work is large: a cart of a hundred lines and five hundred coupons is 0.2 s of CPU, and a PDF of a hundred lines is 0.04 s, where a confirm is
 * a few milliseconds. An account has one of them at work, and accounts take turns, live mode before test mode. While its neighbors are short of time, the account
 * rests after each.
 */
export class DearRequests {
  readonly #limits: DearLimits;
  readonly #neighbors: Neighbors;
  readonly #rests: Rests;
  readonly #atWork = new Set<string>();
  readonly #lines: WaitingLines;

  constructor(neighbors: Neighbors, limits: Partial<DearLimits> = {}, rests: Rests = new Rests(neighbors)) {
    this.#limits = { ...defaultLimits, ...limits };
    this.#neighbors = neighbors;
    this.#rests = rests;
    this.#lines = new WaitingLines(neighbors, this.#limits, {
      mayBegin: (caller) => this.#mayBegin(caller),
      begin: (caller) => this.#begin(caller),
    });
  }

  /** Waits for the caller's turn. Returns the function that ends it. */
  enter(caller: TurnCaller): Leave | Promise<Leave> {
    return this.#lines.enter(caller);
  }

  /** The account had other work, which is to be followed by a rest like that of its turn. */
  hadWork({ accountId }: TurnCaller, tookMs: number): void {
    this.#rests.begin(accountId, tookMs);
  }

  /** Throws when too many requests of the account wait. */
  assertRoom(caller: TurnCaller): void {
    this.#lines.assertRoom(caller);
  }

  /** Does work that is dear when it is the caller's turn. */
  async run<Done>(caller: TurnCaller, work: () => Promise<Done>): Promise<Done> {
    const leave = await this.enter(caller);
    try {
      return await work();
    } finally {
      leave();
    }
  }

  #mayBegin({ accountId }: TurnCaller): boolean {
    return this.#atWork.size < this.#limits.atOnce && !this.#atWork.has(accountId) && !this.#rests.isResting(accountId);
  }

  #begin({ accountId }: TurnCaller): Leave {
    const { now } = this.#neighbors;
    const sinceMs = now();
    this.#atWork.add(accountId);
    return () => {
      this.#atWork.delete(accountId);
      this.#rests.begin(accountId, now() - sinceMs);
      this.#lines.letIn();
    };
  }
}

// Eight carts of half a second have their turns within the wait, with their rests.
const defaultLimits: DearLimits = { atOnce: 4, waitingOfAccount: 8, longestWaitMs: 10_000 };
