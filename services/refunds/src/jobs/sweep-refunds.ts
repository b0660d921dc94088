import type { Job } from '@eligo/service';
import type { Context } from '../context.ts';
import { nextWorkInMs, sweepRefundsJob } from '../store/due-work.ts';
import type { RefundWorker } from './refund-worker.ts';

/** Drives on what is due: retries, looks at what the processor has, and what a process that died has left. */
export function sweepRefunds({ database }: Context, worker: RefundWorker): Job {
  return {
    name: sweepRefundsJob,
    // New work starts at once, and every pause wakes the sweep when it ends; this poll finds work that another process left.
    everyMs: 15_000,
    async run(signal) {
      await worker.sweep(signal);
      return { dueInMs: await nextWorkInMs(database) };
    },
  };
}
