import type { Recovery } from '@eligo/processor';
import type { Job } from '@eligo/service';
import type { Context } from '../context.ts';
import { nextWorkInMs, sweepRefundsJob, wakeRefundWork } from '../store/due-work.ts';
import type { RefundWorker } from './refund-worker.ts';

// Once for each recovery; refunds that were not sent in the outage are due every five seconds anyway, and the others within five minutes.
const mostWoken = 1_000;

/** Drives on what is due: retries, looks at what the processor has, and what a process that died has left. Once the processor is back, what waits for it is due. */
export function sweepRefunds({ database }: Context, worker: RefundWorker, recovery: Recovery): Job {
  return {
    name: sweepRefundsJob,
    // New work starts at once, and every pause wakes the sweep when it ends; this poll finds work that another process left.
    everyMs: 15_000,
    async run(signal) {
      await recovery.act((agoMs) => wakeRefundWork(database, agoMs, mostWoken));
      await worker.sweep(signal);
      return { dueInMs: await nextWorkInMs(database) };
    },
  };
}
