import { append } from '@eligo/events';
import type { Scope, Tx } from '@eligo/postgres';
import type { Dispute, DisputeEventType } from '../domain/dispute.ts';
import { disputeEventMessage } from '../messages/dispute.ts';

/** Tells of a dispute as it is after this transaction; the caller holds its lock. */
export async function appendDisputeEvents(
  tx: Tx,
  scope: Scope,
  types: readonly DisputeEventType[],
  dispute: Dispute,
): Promise<void> {
  for (const type of types) {
    await append(tx, {
      type,
      aggregateId: dispute.disputeId,
      accountId: scope.accountId,
      testMode: scope.testMode,
      object: { case: 'dispute', value: disputeEventMessage(dispute, new Date()) },
    });
  }
}
