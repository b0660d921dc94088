import { type Db, type Scope, scoped } from '@eligo/postgres';
import { type DunningSettings, defaultDunning } from '../domain/dunning.ts';

/** How the account duns. */
export async function findDunning(db: Db, scope: Scope): Promise<DunningSettings> {
  const row = await db.row(select, scope);
  return row === undefined ? defaultDunning : { retryDays: row.retry_days, endsWith: row.ends_with };
}

const select = scoped<{ retry_days: number[]; ends_with: DunningSettings['endsWith'] }>(
  'dunning_settings.find',
  'select retry_days, ends_with from dunning_settings where account_id = $1 and test_mode = $2',
);
