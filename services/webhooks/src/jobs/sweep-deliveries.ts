import type { Job } from '@eligo/service';
import type { DeliveryWorker } from './delivery/worker.ts';

/** Sends what is due. The worker is handed new deliveries and knows its retries; this finds what a process that died, or was never woken, has left. */
export function sweepDeliveries(worker: DeliveryWorker): Job {
  return { name: 'deliver', everyMs: 10_000, run: () => worker.sweep() };
}
