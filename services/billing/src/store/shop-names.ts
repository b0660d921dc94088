import { type Db, type Scope, scoped, type Tx } from '@eligo/postgres';

/** What shoppers call an account's shop. */
export interface ShopName {
  readonly name: string;
  /** Orders the names of an account. */
  readonly version: bigint;
}

/** Stores the name, unless a newer one is stored. */
export async function recordShopName(tx: Tx, scope: Scope, { name, version }: ShopName): Promise<void> {
  await tx.execute(record, scope, [name, version]);
}

/** What shoppers call the shop; undefined while the gateway has not told it. */
export async function findShopName(db: Db, scope: Scope): Promise<string | undefined> {
  return (await db.row(find, scope))?.name;
}

const record = scoped<never>(
  'shop_names.record',
  `insert into shop_names as known (account_id, test_mode, name, version) values ($1, $2, $3, $4)
   on conflict (account_id, test_mode) do update
     set name = excluded.name, version = excluded.version, recorded_at = clock_timestamp()
     where known.version < excluded.version`,
);
const find = scoped<{ name: string }>(
  'shop_names.find',
  'select name from shop_names where account_id = $1 and test_mode = $2',
);
