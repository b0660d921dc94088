import { type Database, unscoped, withTx } from '@eligo/postgres';
import { newId } from '@eligo/values';
import { type Account, accountColumns } from './account-row.ts';
import { checkFeatures, checkName } from './account-rules.ts';
import { assertOrganization, refuseFullOrganization } from './organizations.ts';

/** What a new account is made from. */
export interface NewAccount {
  readonly name: string;
  readonly features?: readonly string[] | undefined;
  readonly organizationId?: string | undefined;
}

/** Creates a partner account. Throws organization_not_found, and conflict when the organization is full. */
export async function createAccount(database: Database, account: NewAccount): Promise<Account> {
  const features = checkFeatures(account.features ?? []);
  const name = checkName(account.name);
  return withTx(database, null, async (tx) => {
    if (account.organizationId !== undefined) await assertOrganization(tx, account.organizationId);
    const values = [newId('account'), name, account.organizationId ?? null, features];
    const row = await tx.row(insertAccount, null, values).catch(refuseFullOrganization);
    if (row === undefined) throw new Error('Inserting an account returned no row');
    return row;
  });
}

const insertAccount = unscoped<Account>(
  'accounts.insert',
  `insert into accounts (account_id, name, organization_id, features) values ($1, $2, $3, $4)
   returning ${accountColumns}`,
);
