import { type Db, type Scope, scoped, type Tx } from '@eligo/postgres';

/** Whether an account and mode mails its customers to confirm a payment to the bank. It does unless it is turned off. */
export async function mailsAuthentications(db: Db, scope: Scope): Promise<boolean> {
  return (await db.row(select, scope))?.is_mailed ?? true;
}

/** Turns these mails on or off; those that wait are dropped when their turn comes. */
export async function saveMailsAuthentications(tx: Tx, scope: Scope, isMailed: boolean): Promise<void> {
  await tx.execute(upsert, scope, [isMailed]);
}

const select = scoped<{ is_mailed: boolean }>(
  'authentication_notices.find',
  'select is_mailed from authentication_notices where account_id = $1 and test_mode = $2',
);
const upsert = scoped<never>(
  'authentication_notices.save',
  `insert into authentication_notices (account_id, test_mode, is_mailed) values ($1, $2, $3)
   on conflict (account_id, test_mode) do update set is_mailed = excluded.is_mailed, updated_at = now()`,
);
