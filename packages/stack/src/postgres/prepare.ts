import { type MigrationSource, migrate, provisionRoles, roleUrl, serviceRole } from '@eligo/postgres';
import pg from 'pg';
import { type ComponentName, componentNames, perComponent } from '../components.ts';

/** What a component's schema is made from. */
export type Migrations = Readonly<Record<ComponentName, readonly MigrationSource[]>>;

/** Where each component connects with its own role, and where its migrations run as the owner. */
export interface DatabaseUrls {
  readonly owner: string;
  readonly components: Readonly<Record<ComponentName, string>>;
}

/** Makes the database itself when the server does not have it yet; returns the admin's URL of it. */
export async function ensureDatabase(adminUrl: string, name: string): Promise<string> {
  const client = new pg.Client({ connectionString: adminUrl, application_name: 'eligo set-up' });
  await client.connect();
  try {
    const known = await client.query('select 1 from pg_database where datname = $1', [name]);
    if (known.rows.length === 0) await client.query(`create database ${client.escapeIdentifier(name)}`);
  } finally {
    await client.end();
  }
  const url = new URL(adminUrl);
  url.pathname = `/${name}`;
  return url.href;
}

/** The URLs that follow from an admin's URL of the database and the roles' passwords. */
export function databaseUrls(
  adminUrl: string,
  passwords: Readonly<Record<ComponentName | 'owner', string>>,
): DatabaseUrls {
  return {
    owner: roleUrl(adminUrl, 'eligo_owner', passwords.owner),
    components: perComponent((name) => roleUrl(adminUrl, serviceRole(name), passwords[name])),
  };
}

/** Passwords by role; a role without one keeps what it has. */
export type Passwords = Readonly<Record<ComponentName | 'owner', string | undefined>>;

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
    passwords.owner === undefined ? { url: adminUrl, owner: ownerRole } : { url: ownerUrl(adminUrl, passwords.owner) };
  // One after another: they share the owner's default privileges, which the server lets one change at a time.
  const applied: Partial<Record<ComponentName, readonly string[]>> = {};
  for (const name of options.only ?? componentNames) {
    const role = serviceRole(name);
    applied[name] = (await migrate({ ...owner, schema: name, role, sources: options.migrations[name] })).applied;
  }
  return { applied };
}

const ownerRole = 'eligo_owner';

function ownerUrl(adminUrl: string, password: string): string {
  return roleUrl(adminUrl, ownerRole, password);
}
