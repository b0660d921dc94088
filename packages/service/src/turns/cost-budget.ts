import type { Neighbors } from './neighbors.ts';

/** Bounds of a budget. */
export interface BudgetLimits {
  readonly burstMs: number;
  readonly mostDebtMs: number;
}

/** What is left of a budget of processor time, for each account in its mode. */
export class CostBudget {
  readonly #neighbors: Neighbors;
  readonly #limits: BudgetLimits;
  readonly #accounts = new Map<string, Budget>();

  constructor(neighbors: Neighbors, limits: BudgetLimits) {
    this.#neighbors = neighbors;
    this.#limits = limits;
  }

  /** Takes so much from a budget that this share of the working time refills. */
  charge(name: string, tookMs: number, share: number): void {
    const nowMs = this.#neighbors.now();
    const leftMs = this.#leftMs(name, nowMs) - tookMs;
    // What was charged last is at the end, so that what is old is at the beginning.
    this.#accounts.delete(name);
    this.#accounts.set(name, { leftMs: Math.max(leftMs, -this.#limits.mostDebtMs), share, atMs: nowMs });
    this.#forget(nowMs);
  }

  isSpent(name: string): boolean {
    return this.#leftMs(name, this.#neighbors.now()) <= 0;
  }

  // A process that waits for Postgres on a machine without a processor to spare has less to share.
  #leftMs(name: string, nowMs: number): number {
    const { burstMs } = this.#limits;
    const budget = this.#accounts.get(name);
    if (budget === undefined) return burstMs;
    const worked = Math.max(leastUtilization, this.#neighbors.utilization());
    return Math.min(burstMs, budget.leftMs + (nowMs - budget.atMs) * budget.share * worked);
  }

  // After this time any budget is full again.
  #forget(nowMs: number): void {
    const { burstMs, mostDebtMs } = this.#limits;
    const untilMs = nowMs - (burstMs + mostDebtMs) / (leastShare * leastUtilization);
    for (const [name, { atMs }] of this.#accounts) {
      if (atMs > untilMs) return;
      this.#accounts.delete(name);
    }
  }
}

/** So that an account whose neighbors do little is not held up by its own waiting. */
const leastUtilization = 0.25;
const leastShare = 0.05;

interface Budget {
  readonly leftMs: number;
  readonly share: number;
  readonly atMs: number;
}
