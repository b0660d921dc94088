import type { Neighbors } from './neighbors.ts';
import { nameOf, type TurnCaller } from './turn-caller.ts';

/** What an account may take of a process' time while other accounts are short of it. */
export interface CostLimits {
  /** Of the time in which the process works. */
  readonly liveShare: number;
  readonly testShare: number;
  /** What an account may take at once before it waits. */
  readonly burstMs: number;
  /** The most that an account works off later. */
  readonly mostDebtMs: number;
}

/**
 * The time that accounts have taken of this process, by what was measured. While accounts are short of time, one of them has a budget that a share of the time
 * refills; none of its dear work begins while the budget is used up. What one request takes beyond it is a debt, so that over any time an account takes no more than
 * its share, the burst and what is at work.
 */
export class CostBudgets {
  readonly #neighbors: Neighbors;
  readonly #limits: CostLimits;
  readonly #budgets = new Map<string, Budget>();

  constructor(neighbors: Neighbors, limits: Partial<CostLimits> = {}) {
    this.#neighbors = neighbors;
    this.#limits = { ...defaultLimits, ...limits };
  }

  /** Dear work of the account took so long. */
  charge(caller: TurnCaller, tookMs: number): void {
    if (!this.#neighbors.areShort(caller.accountId)) return;
    const nowMs = this.#neighbors.now();
    const leftMs = this.#leftMs(caller, nowMs) - tookMs;
    const name = nameOf(caller);
    // What was charged last is at the end, so that what is old is at the beginning.
    this.#budgets.delete(name);
    this.#budgets.set(name, { leftMs: Math.max(leftMs, -this.#limits.mostDebtMs), atMs: nowMs });
    this.#forget(nowMs);
  }

  /** Whether the account has to wait before its next dear work. */
  isSpent(caller: TurnCaller): boolean {
    return this.#neighbors.areShort(caller.accountId) && this.#leftMs(caller, this.#neighbors.now()) <= 0;
  }

  #leftMs(caller: TurnCaller, nowMs: number): number {
    const { burstMs } = this.#limits;
    const budget = this.#budgets.get(nameOf(caller));
    if (budget === undefined) return burstMs;
    return Math.min(burstMs, budget.leftMs + (nowMs - budget.atMs) * this.#shareOf(caller));
  }

  // A process that waits for Postgres on a machine without a processor to spare has less to share.
  #shareOf({ testMode }: TurnCaller): number {
    const { testShare, liveShare } = this.#limits;
    return (testMode ? testShare : liveShare) * Math.min(1, Math.max(leastUtilization, this.#neighbors.utilization()));
  }

  // After this time any budget is full again.
  #forget(nowMs: number): void {
    const { burstMs, mostDebtMs, liveShare, testShare } = this.#limits;
    const untilMs = nowMs - (burstMs + mostDebtMs) / (Math.min(liveShare, testShare) * leastUtilization);
    for (const [name, { atMs }] of this.#budgets) {
      if (atMs > untilMs) return;
      this.#budgets.delete(name);
    }
  }
}

/** So that an account whose neighbors do little is not held up by its own waiting. */
const leastUtilization = 0.25;

interface Budget {
  readonly leftMs: number;
  readonly atMs: number;
}

const defaultLimits: CostLimits = {
  // An account keeps 0.7 of its payments beside one that does its worst, with room for what is not measured, such as its connections.
  liveShare: 0.2,
  testShare: 0.1,
  // A page of a hundred records, or two.
  burstMs: 50,
  // A wait of four seconds, or of eight in test mode. A cart of a hundred lines and five hundred coupons takes a quarter of it.
  mostDebtMs: 800,
};
