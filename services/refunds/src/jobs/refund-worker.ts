import type { Database } from '@eligo/postgres';
import { type DueWork, dueWork } from '../store/due-work.ts';

/** What the worker needs. */
export interface RefundWorkerOptions {
  readonly database: Database;
  readonly drive: (work: DueWork) => Promise<void>;
  readonly onError: (error: unknown, work: DueWork) => void;
  /** Steps under way at once (16): each waits for the processor or for checkout most of its time. */
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

  /** Drives this on; what is under way already is left alone. */
  wake(work: readonly DueWork[]): void {
    if (this.#stopped) return;
    for (const one of work) this.#waiting.set(keyOf(one), one);
    this.#fill();
  }

  /** Finds what is due and drives it on; true when there may be more than was looked at. */
  async sweep(): Promise<boolean> {
    const due = await dueWork(this.#options.database, mostInOneSweep);
    this.wake(due.filter((work) => !this.#running.has(keyOf(work))));
    return due.length >= mostInOneSweep;
  }

  /** Resolves when nothing is under way or waiting. */
  async idle(): Promise<void> {
    while (this.#running.size > 0) await Promise.race(this.#running.values());
  }

  /** Starts nothing more and waits for what is under way; what waits is found by another sweep. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#waiting.clear();
    await this.idle();
  }

  #fill(): void {
    const { atOnce = 16 } = this.#options;
    for (const [key, work] of this.#waiting) {
      if (this.#running.size >= atOnce) return;
      if (this.#running.has(key)) continue;
      this.#waiting.delete(key);
      this.#running.set(key, this.#run(key, work));
    }
  }

  async #run(key: string, work: DueWork): Promise<void> {
    try {
      await this.#options.drive(work);
    } catch (error) {
      this.#options.onError(error, work);
    }
    this.#running.delete(key);
    this.#fill();
  }
}

const mostInOneSweep = 100;

function keyOf(work: DueWork): string {
  if (work.kind === 'attempt') return work.attemptId;
  return work.kind === 'requested' ? work.refundId : `${work.refundId} ${work.paymentIntentId}`;
}
