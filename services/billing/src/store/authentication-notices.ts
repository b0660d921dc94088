import { type Db, type Scope, scoped, type Tx } from '@eligo/postgres';

/** `on` unless an operator turns these mails off: `off` by an opt-out of its own, `off_with_all` with all other mails, until the account has a name again. */
export type AuthenticationNotices = 'on' | 'off' | 'off_with_all';

/** What an operator set about the mails that ask a customer to confirm a payment to the bank. */
export async function findAuthenticationNotices(db: Db, scope: Scope): Promise<AuthenticationNotices> {
  const row = await db.row(select, scope);
  if (row?.is_mailed ?? true) return 'on';
  return row?.off_with_all ? 'off_with_all' : 'off';
}

/** Turns these mails on or off; those that wait are dropped when their turn comes. */
export async function saveAuthenticationNotices(tx: Tx, scope: Scope, set: AuthenticationNotices): Promise<void> {
  await tx.execute(upsert, scope, [set === 'on', set === 'off_with_all']);
}

const select = scoped<{ is_mailed: boolean; off_with_all: boolean }>(
  'authentication_notices.find',
  'select is_mailed, off_with_all from authentication_notices where account_id = $1 and test_mode = $2',
);
const upsert = scoped<never>(
  'authentication_notices.save',
  `insert into authentication_notices (account_id, test_mode, is_mailed, off_with_all) values ($1, $2, $3, $4)
   on conflict (account_id, test_mode)
   do update set is_mailed = excluded.is_mailed, off_with_all = excluded.off_with_all, updated_at = now()`,
);
