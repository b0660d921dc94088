import { type Database, unscoped } from '@eligo/postgres';

/** What an account can do, that billing may not know yet. */
export interface FeaturesToTell {
  readonly accountId: string;
  readonly features: string[];
  readonly version: bigint;
}

/** A page of them, the oldest first, behind this version. */
export async function featuresToTell(database: Database, after: bigint, limit: number): Promise<FeaturesToTell[]> {
  const rows = await database.rows(select, null, [after, limit]);
  return rows.map(({ account_id: accountId, features, version }) => ({ accountId, features, version }));
}

/** Removes what billing has recorded. What changed meanwhile stays. */
export async function markFeaturesTold(database: Database, { accountId, version }: FeaturesToTell): Promise<void> {
  await database.execute(remove, null, [accountId, version]);
}

const select = unscoped<{ account_id: string; features: string[]; version: bigint }>(
  'features_to_tell.page',
  'select account_id, features, version from features_to_tell where version > $1 order by version limit $2',
);
const remove = unscoped<never>(
  'features_to_tell.remove',
  'delete from features_to_tell where account_id = $1 and version = $2',
);
