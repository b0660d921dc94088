import { type Database, unscoped } from '@eligo/postgres';

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
}

export const statementsToTell = changeQueue<string | null>('statements_to_tell', 'substantiation');
export const featuresToTell = changeQueue<string[]>('features_to_tell', 'features');
export const shopNamesToTell = changeQueue<string>('shop_names_to_tell', 'name');
export const timeZonesToTell = changeQueue<string>('time_zones_to_tell', 'time_zone');

// Each table has the last change of an account.
function changeQueue<Value>(
  table: 'statements_to_tell' | 'features_to_tell' | 'shop_names_to_tell' | 'time_zones_to_tell',
  column: 'substantiation' | 'features' | 'name' | 'time_zone',
): ChangeQueue<Value> {
  const select = unscoped<{ account_id: string; value: Value; version: bigint }>(
    `${table}.page`,
    `select account_id, ${column} as value, version from ${table} where version > $1 order by version limit $2`,
  );
  const remove = unscoped<never>(`${table}.remove`, `delete from ${table} where account_id = $1 and version = $2`);
  return {
    async page(database, after, limit) {
      const rows = await database.rows(select, null, [after, limit]);
      return rows.map(({ account_id: accountId, value, version }) => ({ accountId, value, version }));
    },
    async remove(database, { accountId, version }) {
      await database.execute(remove, null, [accountId, version]);
    },
  };
}
