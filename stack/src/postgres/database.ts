import { connectionTo } from '@eligo/postgres/connection';
import { roleNames, roleUrl } from '@eligo/postgres/roles';
import pg from 'pg';
import { type ComponentName, perComponent } from '../components.ts';

/** Where each component connects with its own role, and where its migrations run as the owner. */
export interface DatabaseUrls {
  readonly owner: string;
  readonly components: Readonly<Record<ComponentName, string>>;
}

/** Makes the database itself when the server does not have it yet; returns the admin's URL of it. */
export async function ensureDatabase(adminUrl: string, name: string): Promise<string> {
  const client = new pg.Client({ ...connectionTo(adminUrl), application_name: 'eligo set-up' });
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

/** The same database, reached over the Unix socket in a folder. Host and port stay in the URL; the port names the socket. */
export function socketUrl(url: string, folder: string): string {
  const target = new URL(url);
  target.searchParams.set('host', folder);
  return target.href;
}

/** The URLs that follow from an admin's URL of the database, the roles' passwords and the installation that they belong to. */
export function databaseUrls(
  adminUrl: string,
  passwords: Readonly<Record<ComponentName | 'owner', string>>,
  installation = '',
): DatabaseUrls {
  const roles = roleNames(installation);
  return {
    owner: roleUrl(adminUrl, roles.owner, passwords.owner),
    components: perComponent((name) => roleUrl(adminUrl, roles.ofService(name), passwords[name])),
  };
}

/** Passwords by role; a role without one keeps what it has. */
export type Passwords = Readonly<Record<ComponentName | 'owner', string | undefined>>;
