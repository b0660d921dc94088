import { AsyncLocalStorage } from 'node:async_hooks';
import { performance } from 'node:perf_hooks';
import { promiseHooks } from 'node:v8';
import type { CostBudgets } from './cost-budgets.ts';
import type { Neighbors } from './neighbors.ts';
import type { TurnCaller } from './turn-caller.ts';

/** A request or call whose time is measured. */
export interface MeteredWork {
  readonly caller: TurnCaller;
  /** Its time is taken from the account's budget for dear work, too. */
  isDear: boolean;
  /** Measured, and not yet taken from a budget. */
  owedMs?: number | undefined;
}

/**
 * Measures how long the event loop works for which account, by the promises that it continues. It does so only while accounts are short of time: it makes each
 * continuation a quarter of a microsecond longer. Time that the loop spends outside of promises, such as for parsing what Postgres answers, is added in proportion.
 */
export class CostMeter {
  readonly #neighbors: Neighbors;
  readonly #budgets: Pick<CostBudgets, 'charge'>;
  readonly #running = new AsyncLocalStorage<MeteredWork>();
  #current: MeteredWork | undefined;
  #sinceMs = 0;
  #attributedMs = 0;
  #owing: MeteredWork[] = [];
  #owedMs = 0;
  #factor = 1;
  #before = performance.eventLoopUtilization();
  #watch: NodeJS.Timeout | undefined;
  #stopHooks: (() => void) | undefined;

  constructor(neighbors: Neighbors, budgets: Pick<CostBudgets, 'charge'>) {
    this.#neighbors = neighbors;
    this.#budgets = budgets;
  }

  /** Whether the current work is measured already, because it was let in by another part of this process. */
  get isRunning(): boolean {
    return this.#running.getStore() !== undefined;
  }

  get isMeasuring(): boolean {
    return this.#stopHooks !== undefined;
  }

  /** Runs work as the account's. */
  run<Result>(work: MeteredWork, step: () => Result): Result {
    if (this.#stopHooks === undefined && this.#neighbors.areShort(work.caller.accountId)) this.#start();
    return this.#running.run(work, step);
  }

  #start(): void {
    this.#attributedMs = 0;
    this.#factor = 1;
    this.#before = performance.eventLoopUtilization();
    const stopBefore = promiseHooks.onBefore(() => {
      const work = this.#running.getStore();
      if (work === undefined) return;
      this.#current = work;
      this.#sinceMs = performance.now();
    });
    const stopAfter = promiseHooks.onAfter(() => {
      const work = this.#current;
      if (work === undefined) return;
      this.#current = undefined;
      const tookMs = performance.now() - this.#sinceMs;
      if (work.owedMs === undefined) this.#owing.push(work);
      work.owedMs = (work.owedMs ?? 0) + tookMs;
      this.#owedMs += tookMs;
      if (this.#owedMs > mostOwedMs) this.#charge();
    });
    this.#stopHooks = () => {
      stopBefore();
      stopAfter();
      this.#current = undefined;
    };
    this.#watch = setInterval(() => this.#look(), lookMs).unref();
  }

  #charge(): void {
    const owing = this.#owing;
    this.#attributedMs += this.#owedMs;
    this.#owing = [];
    this.#owedMs = 0;
    for (const work of owing) {
      this.#budgets.charge(work.caller, work.owedMs ?? 0, work.isDear, this.#factor);
      work.owedMs = undefined;
    }
  }

  #look(): void {
    this.#charge();
    const now = performance.eventLoopUtilization();
    const { active } = performance.eventLoopUtilization(now, this.#before);
    this.#before = now;
    this.#factor = Math.min(mostFactor, Math.max(1, active / Math.max(this.#attributedMs, 1)));
    this.#attributedMs = 0;
    if (this.#neighbors.areAnyShort()) return;
    clearInterval(this.#watch);
    this.#stopHooks?.();
    this.#stopHooks = undefined;
  }
}

// A continuation takes some ten microseconds, so budgets are looked at for one in a hundred of them.
const mostOwedMs = 1;
const lookMs = 200;
// Confirms have about twice as much around them as in them: events, connections, garbage.
const mostFactor = 5;
