import { type Database, unscoped, withTx } from '@eligo/postgres';
import { defaultTimeZone, newId } from '@eligo/values';
import { type Account, accountColumns } from './account-row.ts';
import { checkFeatures, checkName, checkTimeZone } from './account-rules.ts';
import { assertOrganization, refuseFullOrganization } from './organizations.ts';

/** What a new account is made from. */
export interface NewAccount {
  readonly name: string;
  readonly features?: readonly string[] | undefined;
  readonly organizationId?: string | undefined;
  /** The IANA name of its time zone; the default without one. */
  readonly timeZone?: string | undefined;
}

/** Creates a partner account. Throws organization_not_found, and conflict when the organization is full. */
export async function createAccount(database: Database, account: NewAccount): Promise<Account> {
  const features = checkFeatures(account.features ?? []);
  const name = checkName(account.name);
  const timeZone = checkTimeZone(account.timeZone ?? defaultTimeZone);
  return withTx(database, null, async (tx) => {
    if (account.organizationId !== undefined) await assertOrganization(tx, account.organizationId);
    const values = [newId('account'), name, account.organizationId ?? null, features, timeZone];
    const row = await tx.row(insertAccount, null, values).catch(refuseFullOrganization);
    if (row === undefined) throw new Error('Inserting an account returned no row');
    return row;
  });
}

const insertAccount = unscoped<Account>(
  'accounts.insert',
  `insert into accounts (account_id, name, organization_id, features, time_zone) values ($1, $2, $3, $4, $5)
   returning ${accountColumns}`,
);
