import { type Db, type Scope, scoped, type Tx } from '@eligo/postgres';

/** What an account can do. */
export interface AccountFeatures {
  readonly features: readonly string[];
  /** Orders what was told of an account. */
  readonly version: bigint;
}

/** Stores what an account can do, unless this or something newer is stored. */
export async function saveAccountFeatures(tx: Tx, scope: Scope, { features, version }: AccountFeatures): Promise<void> {
  await tx.execute(upsert, scope, [features, version]);
}

/** What an account can do; undefined while the gateway has told nothing of it. */
export async function findAccountFeatures(db: Db, scope: Scope): Promise<readonly string[] | undefined> {
  return (await db.row(select, scope))?.features;
}

const upsert = scoped<never>(
  'account_features.save',
  `insert into account_features as known (account_id, test_mode, features, version) values ($1, $2, $3, $4)
   on conflict (account_id, test_mode) do update
     set features = excluded.features, version = excluded.version, recorded_at = clock_timestamp()
     where known.version < excluded.version`,
);
const select = scoped<{ features: string[] }>(
  'account_features.find',
  'select features from account_features where account_id = $1 and test_mode = $2',
);
