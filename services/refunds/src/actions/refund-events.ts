import { append, type NewEvent } from '@eligo/events';
import type { Scope, Tx } from '@eligo/postgres';
import type { Refund } from '../domain/refund.ts';
import { refundMessage } from '../messages/refund.ts';

/** Tells of a refund as it is after this transaction; the caller holds its lock. */
export async function appendRefundEvent(
  tx: Tx,
  scope: Scope,
  type: 'refund.created' | 'refund.updated',
  refund: Refund,
): Promise<void> {
  await append(tx, refundEvent(scope, type, refund));
}

/** The event that tells of a refund as it is after a change. */
export function refundEvent(
  scope: Scope,
  type: 'refund.created' | 'refund.updated',
  refund: Refund,
  at?: Date,
): NewEvent {
  return {
    type,
    aggregateId: refund.refundId,
    accountId: scope.accountId,
    testMode: scope.testMode,
    object: { case: 'refund', value: refundMessage(refund) },
    ...(at === undefined ? {} : { at }),
  };
}
