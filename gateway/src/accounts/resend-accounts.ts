import { type Database, inPages, type Tx, unscoped, withTx } from '@eligo/postgres';

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
  for (const statement of queueAgain) await tx.execute(statement, null, [ids]);
  await tx.execute(notify, null);
  return ids;
}

const raiseVersions = unscoped('accounts.raise_versions', 'select raise_versions_to_tell()');
const lockPage = unscoped<{ account_id: string }>(
  'accounts.lock_page',
  'select account_id from accounts where account_id > $1 order by account_id limit $2 for no key update',
);
const queueAgain = [
  again('features_to_tell', 'features', 'features'),
  again('shop_names_to_tell', 'name', 'coalesce(display_name, name)'),
  again('statements_to_tell', 'substantiation', 'substantiation'),
  again('time_zones_to_tell', 'time_zone', 'time_zone'),
].flat();
const notify = unscoped('accounts.notify', `select pg_notify('eligo_gateway_statements', '')`);

// As the triggers of the accounts do: a change gets a new version only as a new row.
function again(table: string, column: string, value: string) {
  return [
    unscoped(`${table}.remove_page`, `delete from ${table} where account_id = any ($1::text[])`),
    unscoped(
      `${table}.queue_page`,
      `insert into ${table} (account_id, ${column})
         select account_id, ${value} from accounts where account_id = any ($1::text[]) order by account_id`,
    ),
  ];
}
