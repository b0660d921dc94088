import { type MigrationSource, migrate, provisionRoles, roleUrl, serviceRole } from '@eligo/postgres';
import { type ComponentName, componentNames } from '../components.ts';
import type { Passwords } from './database.ts';

/** What a component's schema is made from. */
export type Migrations = Readonly<Record<ComponentName, readonly MigrationSource[]>>;

/** Roles, schemas and migrations of all components, or of those named. Returns the ids of what was applied, by component. */
export async function prepareDatabase(options: {
  adminUrl: string;
  passwords: Passwords;
  migrations: Migrations;
  only?: readonly ComponentName[];
}): Promise<{ applied: Readonly<Partial<Record<ComponentName, readonly string[]>>> }> {
  const { adminUrl } = options;
  const passwords = Object.fromEntries(Object.entries(options.passwords).filter(([, password]) => password)) as Record<
    string,
    string
  >;
  await provisionRoles({ adminUrl, services: componentNames, passwords });
  const owner =
    passwords.owner === undefined
      ? { url: adminUrl, owner: ownerRole }
      : { url: roleUrl(adminUrl, ownerRole, passwords.owner) };
  // One after another: they share the owner's default privileges, which the server lets one change at a time.
  const applied: Partial<Record<ComponentName, readonly string[]>> = {};
  for (const name of options.only ?? componentNames) {
    const role = serviceRole(name);
    applied[name] = (await migrate({ ...owner, schema: name, role, sources: options.migrations[name] })).applied;
  }
  return { applied };
}

const ownerRole = 'eligo_owner';
