import { type Db, type Scope, scoped, type Tx } from '@eligo/postgres';

/** Whether the customers of an account agree that their other card pays what their health card refuses. */
export async function isBackupAgreed(db: Db, scope: Scope): Promise<boolean> {
  return (await db.row(select, scope)) !== undefined;
}

export async function saveBackupAgreement(tx: Tx, scope: Scope, isAgreed: boolean): Promise<void> {
  await tx.execute(isAgreed ? insert : remove, scope);
}

const select = scoped<{ recorded_at: Date }>(
  'backup_agreements.find',
  'select recorded_at from backup_agreements where account_id = $1 and test_mode = $2',
);
const insert = scoped(
  'backup_agreements.save',
  'insert into backup_agreements (account_id, test_mode) values ($1, $2) on conflict (account_id, test_mode) do nothing',
);
const remove = scoped(
  'backup_agreements.delete',
  'delete from backup_agreements where account_id = $1 and test_mode = $2',
);
