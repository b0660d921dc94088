import { type Database, inPages, type Tx, unscoped, withTx } from '@eligo/postgres';
import { tellings } from './tellings.ts';

// Changes of these accounts wait while a page is queued: some milliseconds.
const pageSize = 500;

/**
 * Queues what each account is for every service that is told of it, above all versions that a service can have recorded. A service whose schema was restored from a
 * backup learns again what it lost; after a restore of the gateway's, services no longer take its changes for old ones. Answers the number of accounts.
 */
export async function resendAccounts(database: Database): Promise<number> {
  await withTx(database, null, (tx) => tx.execute(raiseVersions, null));
  let count = 0;
  await inPages<string>(pageSize, async (after = '') => {
    const ids = await withTx(database, null, (tx) => queuePage(tx, after));
    count += ids.length;
    return ids;
  });
  return count;
}

async function queuePage(tx: Tx, after: string): Promise<string[]> {
  // A change of an account is queued before the lock or after it: the version of what is queued here is between theirs, as is its value.
  const rows = await tx.rows(lockPage, null, [after, pageSize]);
  const ids = rows.map(({ account_id }) => account_id);
  for (const { queue } of tellings) await queue.queueAgain(tx, ids);
  await tx.execute(notify, null);
  return ids;
}

const raiseVersions = unscoped('accounts.raise_versions', 'select raise_versions_to_tell()');
const lockPage = unscoped<{ account_id: string }>(
  'accounts.lock_page',
  'select account_id from accounts where account_id > $1 order by account_id limit $2 for no key update',
);
const notify = unscoped('accounts.notify', `select pg_notify('eligo_gateway_statements', '')`);
