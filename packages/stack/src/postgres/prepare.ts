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

/** Roles, schemas and migrations of all components, or of those named. */
export async function prepareDatabase(options: {
  adminUrl: string;
  passwords: Readonly<Record<ComponentName | 'owner', string>>;
  migrations: Migrations;
  only?: readonly ComponentName[];
}): Promise<DatabaseUrls> {
  await provisionRoles({ adminUrl: options.adminUrl, services: componentNames, passwords: options.passwords });
  const urls = databaseUrls(options.adminUrl, options.passwords);
  await Promise.all(
    (options.only ?? componentNames).map((name) =>
      migrate({ url: urls.owner, schema: name, role: serviceRole(name), sources: options.migrations[name] }),
    ),
  );
  return urls;
}
