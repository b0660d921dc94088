import { withTx } from '@eligo/postgres';
import { carryOutAttempt, carryOutMadeAttempt } from '../actions/carry-out-attempt.ts';
import { releaseItem } from '../actions/release-item.ts';
import { resumeRequest } from '../actions/resume-request.ts';
import type { Context } from '../context.ts';
import { pauseAfterFailedLookMs, pausesWhileUnknownMs } from '../domain/pauses.ts';
import { type DueWork, postponeWork } from '../store/due-work.ts';

/**
 * Carries out one step of due work. Safe to call twice, in two processes, and at any time. Work that fails unexpectedly is postponed with increasing
 * backoff, so that a bad row is neither tried every second nor blocks the others.
 */
export async function carryOutWork(context: Context, work: DueWork): Promise<void> {
  try {
    await step(context, work);
  } catch (error) {
    const pauses = { pausesMs: pausesWhileUnknownMs, afterFailedLookMs: pauseAfterFailedLookMs };
    await withTx(context.database, work.scope, (tx) => postponeWork(tx, work, pauses));
    throw error;
  }
}

function step(context: Context, work: DueWork): Promise<void> {
  switch (work.kind) {
    case 'requested':
      return resumeRequest(context, work.scope, work.refundId);
    case 'attempt':
      return work.made === undefined
        ? carryOutAttempt(context, work.scope, work.attemptId, work.epoch)
        : carryOutMadeAttempt(context, work.scope, work.made);
    case 'releasing':
      return releaseItem(context, work.scope, work.refundId, work.paymentIntentId);
  }
}
