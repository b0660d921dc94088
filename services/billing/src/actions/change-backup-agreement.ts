import { type Database, type Scope, withTx } from '@eligo/postgres';
import { saveBackupAgreement } from '../store/backup-agreements.ts';

/** Records that the customers of an account agree that their other card pays what their health card refuses at a renewal, or that they do no longer. */
export async function changeBackupAgreement(database: Database, scope: Scope, isAgreed: boolean): Promise<void> {
  await withTx(database, scope, (tx) => saveBackupAgreement(tx, scope, isAgreed));
}
