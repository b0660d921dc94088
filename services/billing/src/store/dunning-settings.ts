import { type Db, type Scope, scoped, type Tx } from '@eligo/postgres';
import { type DunningSettings, defaultDunning, takenRetryDays } from '../domain/dunning.ts';

/** How the account duns: on days that the table takes again. */
export async function findDunning(db: Db, scope: Scope): Promise<DunningSettings> {
  const row = await db.row(select, scope);
  return row === undefined ? defaultDunning : { retryDays: takenRetryDays(row.retry_days), endsWith: row.ends_with };
}

export async function saveDunning(tx: Tx, scope: Scope, { retryDays, endsWith }: DunningSettings): Promise<void> {
  await tx.execute(upsert, scope, [retryDays, endsWith]);
}

const select = scoped<{ retry_days: number[]; ends_with: DunningSettings['endsWith'] }>(
  'dunning_settings.find',
  'select retry_days, ends_with from dunning_settings where account_id = $1 and test_mode = $2',
);
const upsert = scoped(
  'dunning_settings.save',
  `insert into dunning_settings (account_id, test_mode, retry_days, ends_with, updated_at) values ($1, $2, $3::smallint[], $4, now())
   on conflict (account_id, test_mode) do update set retry_days = excluded.retry_days, ends_with = excluded.ends_with, updated_at = now()`,
);
