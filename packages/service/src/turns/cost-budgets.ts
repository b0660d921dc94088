import { CostBudget } from './cost-budget.ts';
import type { Neighbors } from './neighbors.ts';
import { nameOf, type TurnCaller } from './turn-caller.ts';

/** What an account may take of a process' time while other accounts are short of it. */
export interface CostLimits {
  /** Of the time in which the process works, for expensive work. */
  readonly expensiveShare: number;
  /** What an account may take at once for expensive work before it waits. */
  readonly burstMs: number;
  /** For all of its work: so much for each request a second that its key may make, and so much at least. */
  readonly shareOfRequest: number;
  readonly leastShare: number;
  readonly burstOfAllMs: number;
  /** The most that an account works off later. */
  readonly mostDebtMs: number;
  readonly mostDebtOfAllMs: number;
}

/**
 * The time that accounts have taken of this process, by what was measured. While accounts are short of time, one of them has two budgets, which shares of the time
 * refill: one for its expensive work, and one for all that keys with a rate limit ask for. What one request takes beyond a budget is a debt, so that over any time an
 * account takes no more than its share, the burst and what is at work.
 */
export class CostBudgets {
  readonly #neighbors: Neighbors;
  readonly #limits: CostLimits;
  readonly #expensive: CostBudget;
  readonly #all: CostBudget;

  constructor(neighbors: Neighbors, limits: Partial<CostLimits> = {}) {
    this.#neighbors = neighbors;
    this.#limits = { ...defaultLimits, ...limits };
    const { burstMs, burstOfAllMs, mostDebtMs, mostDebtOfAllMs } = this.#limits;
    this.#expensive = new CostBudget(neighbors, { burstMs, mostDebtMs });
    this.#all = new CostBudget(neighbors, { burstMs: burstOfAllMs, mostDebtMs: mostDebtOfAllMs });
  }

  /** Charges measured work to the account. `factor` is how long the process works for each measured millisecond: parsing and connections are not measured. */
  charge(caller: TurnCaller, tookMs: number, isExpensive = true, factor = 1): void {
    if (!this.#neighbors.areShort(caller.accountId)) return;
    const name = nameOf(caller);
    if (isExpensive) this.#expensive.charge(name, tookMs * factor, this.#limits.expensiveShare);
    const share = this.#shareOfAll(caller);
    if (share !== undefined) this.#all.charge(name, tookMs * factor, share);
  }

  /** Whether the account has to wait before its next expensive work. */
  isSpent(caller: TurnCaller): boolean {
    if (!this.#neighbors.areShort(caller.accountId)) return false;
    return this.#expensive.isSpent(nameOf(caller)) || this.isOver(caller);
  }

  /**
   * Whether the account has to wait before its next work of any kind: it took more than its share, and another account of its rank neither did nor asks for more than it may. Where
   * there is none, they share the process by the number of their requests at work.
   */
  isOver(caller: TurnCaller): boolean {
    if (this.#shareOfAll(caller) === undefined || !this.#all.isSpent(nameOf(caller))) return false;
    if (!this.#neighbors.areShort(caller.accountId)) return false;
    // What an account takes in test mode does not count where both are in live mode.
    const modes = caller.testMode ? [false, true] : [false];
    const takesTooMuch = (accountId: string) =>
      modes.some((testMode) =>
        askers.some((of) => {
          const account = { accountId, testMode, of };
          return this.#all.isSpent(nameOf(account)) || this.#neighbors.isAtLimit(account);
        }),
      );
    // Few accounts can have taken more than their share, so the first few tell.
    for (const accountId of this.#neighbors.othersOf(caller)) if (!takesTooMuch(accountId)) return true;
    return false;
  }

  #shareOfAll({ perSecond }: TurnCaller): number | undefined {
    const { shareOfRequest, leastShare } = this.#limits;
    return perSecond === undefined ? undefined : Math.max(leastShare, perSecond * shareOfRequest);
  }
}

/** The keys of an account, and its pages. */
const askers = [undefined, 'pages'] as const;

const defaultLimits: CostLimits = {
  // An account keeps 0.7 of its payments beside one that does its worst, with room for what is not measured, such as its connections. With 0.2 their 99th percentile was up to 3.8 times as long.
  expensiveShare: 0.1,
  // A page of a hundred records, or two.
  burstMs: 50,
  // 5% for the default limit of a live key, a hundred requests a second. What the account takes of Postgres, its burst and the smaller groups of its neighbors' writes come on top: an account
  // is to lose less than 0.3 of its payments to another one.
  shareOfRequest: 0.0005,
  leastShare: 0.05,
  // Five payments.
  burstOfAllMs: 50,
  // A wait of eight seconds. A cart of a hundred lines and five hundred coupons takes a quarter of it.
  mostDebtMs: 800,
  // At the least share of a process that is busy for a quarter of the time, less than the ten seconds that a request waits: expensive work does not have an account's payments refused.
  mostDebtOfAllMs: 100,
};
