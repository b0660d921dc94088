import { withTx } from '@eligo/postgres';
import type { Refunds } from '../actions/context.ts';
import { driveAttempt, driveMadeAttempt } from '../actions/drive-attempt.ts';
import { driveRequest } from '../actions/drive-request.ts';
import { releaseItem } from '../actions/release-item.ts';
import { pauseAfterFailedLookMs, pausesWhileUnknownMs } from '../domain/pauses.ts';
import { type DueWork, postponeWork } from '../store/due-work.ts';

/**
 * Drives one thing a step on. Safe to be told twice, by two processes, and at any time. What fails in a way that nobody foresaw is put off,
 * the longer the more often, so that one bad row neither is tried every second nor stands before the others.
 */
export async function drive(refunds: Refunds, work: DueWork): Promise<void> {
  try {
    await step(refunds, work);
  } catch (error) {
    const pauses = { pausesMs: pausesWhileUnknownMs, afterFailedLookMs: pauseAfterFailedLookMs };
    await withTx(refunds.database, work.scope, (tx) => postponeWork(tx, work, pauses));
    throw error;
  }
}

function step(refunds: Refunds, work: DueWork): Promise<void> {
  switch (work.kind) {
    case 'requested':
      return driveRequest(refunds, work.scope, work.refundId);
    case 'attempt':
      return work.made === undefined
        ? driveAttempt(refunds, work.scope, work.attemptId, work.epoch)
        : driveMadeAttempt(refunds, work.scope, work.made);
    case 'releasing':
      return releaseItem(refunds, work.scope, work.refundId, work.paymentIntentId);
  }
}
