import type { Refunds } from '../actions/context.ts';
import { driveAttempt } from '../actions/drive-attempt.ts';
import { driveRequest } from '../actions/drive-request.ts';
import { releaseItem } from '../actions/release-item.ts';
import type { DueWork } from '../store/due-work.ts';

/** Drives one thing a step on. Safe to be told twice, by two processes, and at any time. */
export function drive(refunds: Refunds, work: DueWork): Promise<void> {
  switch (work.kind) {
    case 'requested':
      return driveRequest(refunds, work.scope, work.refundId);
    case 'attempt':
      return driveAttempt(refunds, work.scope, work.attemptId, work.epoch);
    case 'releasing':
      return releaseItem(refunds, work.scope, work.refundId, work.paymentIntentId);
  }
}
