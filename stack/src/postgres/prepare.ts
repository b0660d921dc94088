import { type InstallationClaim, type MigrationSource, migrate, provisionRoles } from '@eligo/postgres';
import { type ComponentName, componentNames } from '../components.ts';
import type { Passwords } from './database.ts';

/** What a component's schema is made from. */
export type Migrations = Readonly<Record<ComponentName, readonly MigrationSource[]>>;

/**
 * Roles, schemas and migrations of all components, or of those named. Returns the ids of what was applied, by component. Throws AnotherInstallation,
 * before anything is changed, when the database or the roles are another's; `newPasswords` gives roles that exist other passwords.
 */
export async function prepareDatabase(
  options: InstallationClaim & {
    adminUrl: string;
    passwords: Passwords;
    newPasswords?: boolean;
    migrations: Migrations;
    only?: readonly ComponentName[];
  },
): Promise<{ applied: Readonly<Partial<Record<ComponentName, readonly string[]>>> }> {
  const { adminUrl, installation, newInstallation, newPasswords } = options;
  const passwords = Object.fromEntries(Object.entries(options.passwords).filter(([, password]) => password)) as Record<
    string,
    string
  >;
  const provisioned = await provisionRoles({
    ...{ adminUrl, services: componentNames, passwords, installation, newInstallation },
    newPasswords: newPasswords ?? false,
  });
  const { roles } = provisioned;
  const owner = passwords.owner === undefined ? { url: adminUrl, owner: roles.owner } : { url: provisioned.owner };
  // One after another: they share the owner's default privileges, which the server lets one change at a time.
  const applied: Partial<Record<ComponentName, readonly string[]>> = {};
  for (const name of options.only ?? componentNames) {
    const named = { schema: name, role: roles.ofService(name), finder: roles.finder };
    applied[name] = (await migrate({ ...owner, ...named, sources: options.migrations[name] })).applied;
  }
  return { applied };
}
