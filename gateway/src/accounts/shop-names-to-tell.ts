import { type Database, unscoped } from '@eligo/postgres';

/** What shoppers call an account's shop, which billing may not have yet. */
export interface ShopNameToTell {
  readonly accountId: string;
  readonly name: string;
  readonly version: bigint;
}

/** A page of them, the oldest first, behind this version. */
export async function shopNamesToTell(database: Database, after: bigint, limit: number): Promise<ShopNameToTell[]> {
  const rows = await database.rows(select, null, [after, limit]);
  return rows.map(({ account_id: accountId, name, version }) => ({ accountId, name, version }));
}

/** Removes a name that billing has recorded. A newer one of the account stays. */
export async function markShopNameTold(database: Database, { accountId, version }: ShopNameToTell): Promise<void> {
  await database.execute(remove, null, [accountId, version]);
}

const select = unscoped<{ account_id: string; name: string; version: bigint }>(
  'shop_names_to_tell.page',
  'select account_id, name, version from shop_names_to_tell where version > $1 order by version limit $2',
);
const remove = unscoped<never>(
  'shop_names_to_tell.remove',
  'delete from shop_names_to_tell where account_id = $1 and version = $2',
);
