import { Failure } from '@eligo/failures';
import { type Database, type Db, isCheckViolation, unscoped } from '@eligo/postgres';
import { newId } from '@eligo/values';
import { checkName } from './account-rules.ts';

/** Accounts of one owner, at most a hundred, whose single prices each of them may read. */
export interface Organization {
  readonly organization_id: string;
  readonly name: string;
}

export async function createOrganization(database: Database, { name }: { name: string }): Promise<Organization> {
  const organization = { organization_id: newId('organization'), name: checkName(name) };
  await database.execute(insert, null, [organization.organization_id, organization.name]);
  return organization;
}

/** Throws organization_not_found. */
export async function assertOrganization(db: Db, organizationId: string): Promise<void> {
  if ((await db.row(find, null, [organizationId])) === undefined) throw new Failure('organization_not_found');
}

/** Throws an error of writing an account, as `conflict` when its organization has as many members as an organization can have. */
export function refuseFullOrganization(error: unknown): never {
  if (!isCheckViolation(error, 'at_most_100_members')) throw error;
  throw new Failure('conflict', { detail: 'The organization already has the maximum of 100 accounts.' });
}

const insert = unscoped('organizations.insert', 'insert into organizations (organization_id, name) values ($1, $2)');
const find = unscoped<{ organization_id: string }>(
  'organizations.find',
  'select organization_id from organizations where organization_id = $1',
);
