import { type Scope, scoped, type Tx } from '@eligo/postgres';

/** Empties the metadata of the subscriptions that these sessions started: it began as a copy of the session's. */
export async function eraseMetadataOfSold(tx: Tx, scope: Scope, sessionIds: readonly string[]): Promise<void> {
  await tx.execute(erase, scope, [sessionIds]);
}

const erase = scoped<never>(
  'sold_subscriptions.erase_metadata',
  `update billing.subscriptions set metadata = '{}', version = version + 1
   where account_id = $1 and test_mode = $2 and checkout_session_id = any($3::text[]) and metadata <> '{}'`,
);
