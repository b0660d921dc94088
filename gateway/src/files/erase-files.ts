import { type Database, type Scope, scoped, withTx } from '@eligo/postgres';

/**
 * Erases files of evidence; returns how many. Those in Postgres are deleted now. The others lose their name and are no longer readable: the gateway's job
 * deletes them from the object store, as it does with expired files. `database` is open as a role that row-level security does not bind. Safe to repeat.
 */
export async function eraseFiles(database: Database, scope: Scope, fileIds: readonly string[]): Promise<number> {
  if (fileIds.length === 0) return 0;
  return withTx(database, scope, async (tx) => {
    const deleted = await tx.execute(deleteFiles, scope, [fileIds]);
    return deleted + (await tx.execute(expireFiles, scope, [fileIds]));
  });
}

const ofEvidence = `account_id = $1 and test_mode = $2 and id = any($3::text[]) and state = 'stored' and purpose = 'dispute_evidence'`;

const deleteFiles = scoped<never>(
  'files.erase',
  `delete from gateway.files where ${ofEvidence} and store = 'postgres'`,
);

// `expires_at` is later than `created_at`, and both have milliseconds. A partner may have named a file so: one that is erased expires at once as well.
const expireFiles = scoped<never>(
  'files.erase_in_object_store',
  `update gateway.files set filename = 'erased', expires_at = least(expires_at, greatest(now(), created_at + interval '1 millisecond'))
   where ${ofEvidence} and store <> 'postgres' and (filename <> 'erased' or expires_at > now() + interval '1 second')`,
);
