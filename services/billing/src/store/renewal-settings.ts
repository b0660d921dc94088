import { type Db, type Scope, scoped, type Tx } from '@eligo/postgres';

/** Within how many minutes after the beginning of a period an account has its invoice charged; 0: as soon as it is due. */
export async function findRenewalSpread(db: Db, scope: Scope): Promise<number> {
  return (await db.row(select, scope))?.spread_minutes ?? 0;
}

/** Sets the minutes; 0 removes the setting. */
export async function saveRenewalSpread(tx: Tx, scope: Scope, minutes: number): Promise<void> {
  await (minutes === 0 ? tx.execute(remove, scope) : tx.execute(upsert, scope, [minutes]));
}

const select = scoped<{ spread_minutes: number }>(
  'renewal_settings.find',
  'select spread_minutes from renewal_settings where account_id = $1 and test_mode = $2',
);
const upsert = scoped(
  'renewal_settings.save',
  `insert into renewal_settings (account_id, test_mode, spread_minutes) values ($1, $2, $3)
   on conflict (account_id, test_mode) do update set spread_minutes = excluded.spread_minutes, updated_at = now()`,
);
const remove = scoped(
  'renewal_settings.delete',
  'delete from renewal_settings where account_id = $1 and test_mode = $2',
);
