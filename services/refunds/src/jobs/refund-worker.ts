import { asOwnWork, type Database } from '@eligo/postgres';
import { type DuePlace, type DueWork, dueWork } from '../store/due-work.ts';

/** What the worker needs. */
export interface RefundWorkerOptions {
  readonly database: Database;
  readonly carryOut: (work: DueWork) => Promise<void>;
  readonly onError: (error: unknown, work: DueWork) => void;
  /** Steps in flight at once (16): each waits for the processor or for checkout most of its time. */
  readonly atOnce?: number;
}

/** Drives refunds on, as soon as they are handed over and, for what a process that died has left, when the sweep finds them. */
export class RefundWorker {
  readonly #options: RefundWorkerOptions;
  readonly #waiting = new Map<string, DueWork>();
  readonly #running = new Map<string, Promise<void>>();
  #stopped = false;

  constructor(options: RefundWorkerOptions) {
    this.#options = options;
  }

  /** Starts this work, unless it is already in flight. What is handed over while too much waits is left to the sweep, which finds it when its lease ends. */
  wake(work: readonly DueWork[]): void {
    if (this.#stopped) return;
    for (const one of work) {
      const key = keyOf(one);
      if (this.#waiting.size < mostWaiting || this.#waiting.has(key)) this.#waiting.set(key, one);
    }
    this.#fill();
  }

  /**
   * Finds due work and carries it out, page by page and each row once, until there is no more, this was enough for one sweep, or it is asked to
   * stop. A page is begun when the one before is done, so that nothing piles up here; between two sweeps there is the job's pause.
   */
  async sweep(signal?: AbortSignal): Promise<void> {
    let after: DuePlace | undefined;
    // At most every row of every page. What a step has put off for a second is due again before a long sweep ends, and belongs to the next one.
    const begun = new Set<string>();
    for (let page = 0; page < mostPages && !this.#stopped && signal?.aborted !== true; page++) {
      const { work, last } = await dueWork(this.#options.database, rowsOfPage, after);
      const found = work.filter((one) => !begun.has(keyOf(one)));
      for (const one of found) begun.add(keyOf(one));
      this.wake(found.filter((one) => !this.#running.has(keyOf(one))));
      await this.#untilDone(found.map(keyOf), signal);
      if (last === undefined || found.length === 0) return;
      after = last;
    }
  }

  /** Resolves when nothing is in flight or waiting. */
  async idle(): Promise<void> {
    while (this.#running.size > 0) await Promise.race(this.#running.values());
  }

  /** Starts no new work and waits for work in flight; another sweep finds waiting work. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#waiting.clear();
    await this.idle();
  }

  async #untilDone(keys: readonly string[], signal: AbortSignal | undefined): Promise<void> {
    const isOpen = (key: string) => this.#running.has(key) || this.#waiting.has(key);
    const told = Promise.withResolvers<void>();
    const tell = () => told.resolve();
    signal?.addEventListener('abort', tell);
    while (signal?.aborted !== true && keys.some(isOpen)) await Promise.race([told.promise, ...this.#running.values()]);
    signal?.removeEventListener('abort', tell);
  }

  #fill(): void {
    const { atOnce = 16 } = this.#options;
    for (const [key, work] of this.#waiting) {
      if (this.#running.size >= atOnce) return;
      if (this.#running.has(key)) continue;
      this.#waiting.delete(key);
      // Also where a call of the account has handed it over, or woke the one that ended.
      this.#running.set(
        key,
        asOwnWork(() => this.#run(key, work)),
      );
    }
  }

  async #run(key: string, work: DueWork): Promise<void> {
    try {
      await this.#options.carryOut(work);
    } catch (error) {
      this.#options.onError(error, work);
    }
    this.#running.delete(key);
    this.#fill();
  }
}

const rowsOfPage = 100;
// Each holds a refund with its items, some kilobytes, for whichever account refunds faster than the processor answers.
const mostWaiting = 1_000;
// A sweep ends some time, however much there is: 2,000 rows are more than two minutes' work at a processor that takes a second for each.
const mostPages = 20;

function keyOf(work: DueWork): string {
  if (work.kind === 'attempt') return work.attemptId;
  return work.kind === 'requested' ? work.refundId : `${work.refundId} ${work.paymentIntentId}`;
}
