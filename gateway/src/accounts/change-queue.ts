import { type Database, type Tx, unscoped } from '@eligo/postgres';

/** What is to be told of an account. */
export interface Change<Value> {
  readonly accountId: string;
  readonly value: Value;
  /** Orders the changes of an account. */
  readonly version: bigint;
}

/** The changes of accounts that another service may not know yet. */
export interface ChangeQueue<Value> {
  /** A page of them, the oldest first, behind this version. */
  page(database: Database, after: bigint, limit: number): Promise<Change<Value>[]>;
  /** Removes a change that the service has recorded. A newer one of the account stays. */
  remove(database: Database, change: Change<Value>): Promise<void>;
  /** Queues what these accounts are, with new versions. */
  queueAgain(tx: Tx, accountIds: readonly string[]): Promise<void>;
}

interface QueueColumns {
  readonly table: string;
  readonly column: string;
  /** What the triggers of the accounts put into the column. */
  readonly ofAccount: string;
}

/** The queue of a table that has the last change of each account. */
export function changeQueue<Value>({ table, column, ofAccount }: QueueColumns): ChangeQueue<Value> {
  const select = unscoped<{ account_id: string; value: Value; version: bigint }>(
    `${table}.page`,
    `select account_id, ${column} as value, version from ${table} where version > $1 order by version limit $2`,
  );
  const remove = unscoped<never>(`${table}.remove`, `delete from ${table} where account_id = $1 and version = $2`);
  const removePage = unscoped(`${table}.remove_page`, `delete from ${table} where account_id = any ($1::text[])`);
  const queuePage = unscoped(
    `${table}.queue_page`,
    `insert into ${table} (account_id, ${column})
         select account_id, ${ofAccount} from accounts where account_id = any ($1::text[]) order by account_id`,
  );
  return {
    async page(database, after, limit) {
      const rows = await database.rows(select, null, [after, limit]);
      return rows.map(({ account_id: accountId, value, version }) => ({ accountId, value, version }));
    },
    async remove(database, { accountId, version }) {
      await database.execute(remove, null, [accountId, version]);
    },
    // As the triggers do: a change gets a new version only as a new row.
    async queueAgain(tx, accountIds) {
      await tx.execute(removePage, null, [accountIds]);
      await tx.execute(queuePage, null, [accountIds]);
    },
  };
}
