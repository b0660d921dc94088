import type { Tx } from '@eligo/postgres';
import { wakeJobAfterCommit } from '@eligo/service';
import { nextStep } from '../domain/due-step.ts';
import type { Subscription } from '../domain/subscription.ts';

/** The job that does for subscriptions what is due. */
export const runDueJob = 'run-due';

/** Has the job run when this subscription is next due; what lives on a test clock waits for its advance. */
export function wakeWhenDue(tx: Tx, subscription: Subscription, now: Date): void {
  const next = nextStep(subscription);
  if (subscription.testClockId === null) wakeAt(tx, next?.at ?? null, now);
}

/** Has the job run at a time; for null, not on account of this. */
export function wakeAt(tx: Tx, at: Date | null, now: Date): void {
  if (at !== null) wakeJobAfterCommit(tx, runDueJob, Math.max(0, at.getTime() - now.getTime()));
}
