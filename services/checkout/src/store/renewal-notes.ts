import { type Scope, scoped, type Tx } from '@eligo/postgres';

/**
 * Notes that a session's renewal is told by this event of its subscription; false when it is told by that event or a later one already. The caller
 * holds the session's lock.
 */
export async function advanceRenewalNote(
  tx: Tx,
  scope: Scope,
  sessionId: string,
  subscriptionId: string,
  subscriptionSeq: bigint,
): Promise<boolean> {
  return (await tx.execute(advance, scope, [sessionId, subscriptionId, subscriptionSeq])) === 1;
}

const advance = scoped<never>(
  'renewal_notes.advance',
  `insert into checkout.renewal_notes as told (account_id, test_mode, session_id, subscription_id, subscription_seq)
   values ($1, $2, $3, $4, $5)
   on conflict (account_id, test_mode, session_id) do update set subscription_seq = excluded.subscription_seq
     where told.subscription_seq < excluded.subscription_seq`,
);
