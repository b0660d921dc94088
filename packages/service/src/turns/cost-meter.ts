import { AsyncLocalStorage } from 'node:async_hooks';
import { performance } from 'node:perf_hooks';
import { promiseHooks } from 'node:v8';
import type { TellWorked } from '@eligo/rpc';
import type { CostBudgets } from './cost-budgets.ts';
import type { Neighbors } from './neighbors.ts';
import type { TurnCaller } from './turn-caller.ts';
import { WorkElsewhere } from './work-elsewhere.ts';

/** A request or call whose time is measured. */
export interface MeteredWork {
  readonly caller: TurnCaller;
  /** Its time is taken from the account's budget for expensive work, too. */
  isExpensive: boolean;
  /** Who takes the cost of all of it, what other processes work for it included: nobody, this process' budgets, or the process that called. */
  readonly wholeFor?: 'budgets' | 'caller' | undefined;
  /** Measured, and not yet taken from a budget. */
  owedMs?: number | undefined;
  /** Of work for a caller: measured here, and told by other processes. */
  ownMs?: number | undefined;
  elsewhereMs?: number | undefined;
}

/**
 * Measures how long the event loop works for which account, by the promises that it continues. It does so only while accounts are short of time, here or at a caller that asks: it makes
 * each continuation a quarter of a microsecond longer. Time that the loop spends outside of promises, such as for parsing what Postgres answers, is added in proportion.
 */
export class CostMeter {
  readonly #neighbors: Neighbors;
  readonly #budgets: Pick<CostBudgets, 'charge'>;
  readonly #elsewhere: WorkElsewhere;
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
  #askedAtMs = Number.NEGATIVE_INFINITY;

  constructor(neighbors: Neighbors, budgets: Pick<CostBudgets, 'charge'>, elsewhere = new WorkElsewhere()) {
    this.#neighbors = neighbors;
    this.#budgets = budgets;
    this.#elsewhere = elsewhere;
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
    const isAsked = work.wholeFor === 'caller';
    if (isAsked) this.#askedAtMs = this.#neighbors.now();
    if (this.#stopHooks === undefined && (isAsked || this.#neighbors.areShort(work.caller.accountId))) this.#start();
    return this.#running.run(work, step);
  }

  /** Who is to be told for how long the callee of a call works that the current work makes: undefined while it counts for nobody. */
  tellWorked(): TellWorked | undefined {
    if (!this.isMeasuring) return undefined;
    const work = this.#running.getStore();
    if (work?.wholeFor === undefined) return undefined;
    return (workedMs) => this.#toldOf(work, workedMs);
  }

  /** For how long work for a caller was worked on until now. */
  workedMs({ ownMs = 0, elsewhereMs = 0 }: MeteredWork): number {
    return ownMs * this.#factor + elsewhereMs;
  }

  #toldOf(work: MeteredWork, workedMs: number): void {
    if (work.wholeFor === 'caller') {
      work.elsewhereMs = (work.elsewhereMs ?? 0) + workedMs;
      return;
    }
    this.#elsewhere.note(workedMs);
    this.#budgets.charge(work.caller, workedMs, work.isExpensive);
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
      if (work.wholeFor === 'caller') work.ownMs = (work.ownMs ?? 0) + tookMs;
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
      this.#budgets.charge(work.caller, work.owedMs ?? 0, work.isExpensive, this.#factor);
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
    if (this.#neighbors.areAnyShort() || this.#neighbors.now() - this.#askedAtMs < askedMs) return;
    clearInterval(this.#watch);
    this.#stopHooks?.();
    this.#stopHooks = undefined;
  }
}

// A continuation takes some ten microseconds, so budgets are looked at for one in a hundred of them.
const mostOwedMs = 1;
const lookMs = 200;
/** For so long after a call whose caller asked. */
const askedMs = 500;
// Confirms have about twice as much around them as in them: events, connections, garbage.
const mostFactor = 5;
