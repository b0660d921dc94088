import {
  CostBudgets,
  type Leave,
  type Neighbors,
  type TurnCaller,
  type WaitingLimits,
  WaitingLines,
} from '@eligo/service';

/** Bounds of expensive requests. */
export interface ExpensiveLimits extends WaitingLimits {
  /** At work over all accounts; of one account, one. */
  readonly atOnce: number;
}

/**
 * Requests whose work is large: a cart of a hundred lines and five hundred coupons is 0.2 s of CPU, and a PDF of a hundred lines is 0.04 s, where a confirm is
 * a few milliseconds. An account has one of them at work, and accounts take turns, live mode before test mode. While its neighbors are short of time, none begins
 * while the account's budget is used up.
 */
export class ExpensiveRequests {
  readonly #limits: ExpensiveLimits;
  readonly #budgets: CostBudgets;
  readonly #atWork = new Set<string>();
  readonly #lines: WaitingLines;

  constructor(
    neighbors: Neighbors,
    limits: Partial<ExpensiveLimits> = {},
    budgets: CostBudgets = new CostBudgets(neighbors),
  ) {
    this.#limits = { ...defaultLimits, ...limits };
    this.#budgets = budgets;
    this.#lines = new WaitingLines(neighbors, this.#limits, {
      mayBegin: (caller) => this.#mayBegin(caller),
      begin: (caller) => this.#begin(caller),
    });
  }

  /** Waits for the caller's turn. Returns the function that ends it. */
  enter(caller: TurnCaller): Leave | Promise<Leave> {
    return this.#lines.enter(caller);
  }

  /** Throws when too many requests of the account wait. */
  assertRoom(caller: TurnCaller): void {
    this.#lines.assertRoom(caller);
  }

  /** Runs expensive work when it is the caller's turn. */
  async run<Done>(caller: TurnCaller, work: () => Promise<Done>): Promise<Done> {
    const leave = await this.enter(caller);
    try {
      return await work();
    } finally {
      leave();
    }
  }

  #mayBegin(caller: TurnCaller): boolean {
    const { atOnce } = this.#limits;
    return this.#atWork.size < atOnce && !this.#atWork.has(caller.accountId) && !this.#budgets.isSpent(caller);
  }

  #begin({ accountId }: TurnCaller): Leave {
    this.#atWork.add(accountId);
    return () => {
      this.#atWork.delete(accountId);
      this.#lines.letIn();
    };
  }
}

// Eight carts of a hundred lines have their turns within the wait where no other account is short of time. By a share of a tenth, five of them do.
const defaultLimits: ExpensiveLimits = { atOnce: 4, waitingOfAccount: 8, longestWaitMs: 10_000 };
