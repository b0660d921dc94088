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
    this.#accounts.set(name, {
      leftMs: Math.max(leftMs, -this.#limits.mostDebtMs),
      share,
      atMs: nowMs,
      chargedAtMs: nowMs,
    });
    this.#forget(nowMs);
  }

  isSpent(name: string): boolean {
    return this.#leftMs(name, this.#neighbors.now()) <= 0;
  }

  // A process that waits for Postgres on a machine without a processor to spare has less to share. What the process works and spares changes, so it counts for the time since the last look.
  #leftMs(name: string, nowMs: number): number {
    const { burstMs } = this.#limits;
    const budget = this.#accounts.get(name);
    if (budget === undefined) return burstMs;
    const { utilization, spare } = this.#neighbors;
    const refill = budget.share * Math.max(leastUtilization, utilization()) + spare;
    budget.leftMs = Math.min(burstMs, budget.leftMs + (nowMs - budget.atMs) * refill);
    budget.atMs = nowMs;
    return budget.leftMs;
  }

  // After this time any budget is full again.
  #forget(nowMs: number): void {
    const { burstMs, mostDebtMs } = this.#limits;
    const untilMs = nowMs - (burstMs + mostDebtMs) / (leastShare * leastUtilization);
    for (const [name, { chargedAtMs }] of this.#accounts) {
      if (chargedAtMs > untilMs) return;
      this.#accounts.delete(name);
    }
  }
}

/** So that an account whose neighbors do little is not held up by its own waiting. */
const leastUtilization = 0.25;
const leastShare = 0.05;

interface Budget {
  leftMs: number;
  readonly share: number;
  /** When what is left was last looked at. */
  atMs: number;
  readonly chargedAtMs: number;
}
