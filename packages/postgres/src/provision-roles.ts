import pg from 'pg';
import { sqlState } from './errors.ts';

/** Which roles to provide for. */
export interface ProvisionOptions {
  /** A connection, as a superuser or as a role that may create roles and owns the database, to the database to provide for. */
  readonly adminUrl: string;
  /** The services, each with a schema of its name and the role `eligo_<service>`. */
  readonly services: readonly string[];
  /** Passwords by role name without `eligo_` (`owner` too); a role without one keeps what it has. */
  readonly passwords?: Readonly<Record<string, string>>;
}

/** Where to connect afterwards. */
export interface ProvisionedUrls {
  readonly owner: string;
  /** By service. */
  readonly services: Readonly<Record<string, string>>;
}

/**
 * Creates, or brings up to date, the roles and schemas: `eligo_owner` owns what migrations make, `eligo_finder` (which cannot log in) owns
 * the functions that find due rows across accounts, and `eligo_<service>` reaches its own schema and nothing else. Safe to run again, and
 * by several at once.
 */
export async function provisionRoles(options: ProvisionOptions): Promise<ProvisionedUrls> {
  const client = new pg.Client({ connectionString: options.adminUrl, application_name: 'provision roles' });
  client.on('error', (error) => process.emitWarning(`provisioning roles: ${error.message}`));
  await client.connect();
  try {
    await retryRaces(() => createRoles(client, options));
    await retryRaces(() => createSchemas(client, options));
  } finally {
    await client.end();
  }
  return {
    owner: roleUrl(options.adminUrl, 'eligo_owner', options.passwords?.owner),
    services: Object.fromEntries(
      options.services.map((service) => [
        service,
        roleUrl(options.adminUrl, serviceRole(service), options.passwords?.[service]),
      ]),
    ),
  };
}

/** The role that a service connects as. */
export function serviceRole(service: string): string {
  if (!/^[a-z][a-z0-9_]*$/.test(service)) throw new Error(`not the name of a service: ${service}`);
  return `eligo_${service}`;
}

/** The same server and database, reached as another role. */
export function roleUrl(url: string, role: string, password?: string): string {
  const target = new URL(url);
  target.username = role;
  target.password = password ?? '';
  return target.href;
}

async function createRoles(client: pg.Client, { services, passwords }: ProvisionOptions): Promise<void> {
  const logins = ['eligo_owner', ...services.map(serviceRole)];
  const { rows } = await client.query<{ rolname: string }>('select rolname from pg_roles');
  const existing = new Set(rows.map(({ rolname }) => rolname));
  const { rows: me } = await client.query<{ super: boolean }>(
    'select rolsuper as super from pg_roles where rolname = current_user',
  );
  if (!existing.has('eligo_finder')) await client.query('create role eligo_finder nologin nobypassrls');
  for (const role of logins) {
    if (!existing.has(role)) await client.query(`create role ${role} login nocreatedb nocreaterole nobypassrls`);
    const password = passwords?.[role.slice('eligo_'.length)];
    if (password !== undefined) await client.query(`alter role ${role} password ${client.escapeLiteral(password)}`);
  }
  // The owner hands functions over to the finder, for which it must be able to become it.
  await client.query('grant eligo_finder to eligo_owner');
  if (me[0]?.super !== true) await client.query('grant eligo_owner to current_user');
}

async function createSchemas(client: pg.Client, { services }: ProvisionOptions): Promise<void> {
  const { rows } = await client.query<{ name: string }>('select current_database() as name');
  const database = client.escapeIdentifier(rows[0]?.name ?? '');
  await client.query(`
    revoke all on database ${database} from public;
    revoke all on schema public from public;
    grant connect on database ${database} to eligo_owner`);
  for (const service of services) {
    const role = serviceRole(service);
    await client.query(`
      grant connect on database ${database} to ${role};
      create schema if not exists ${service} authorization eligo_owner;
      revoke all on schema ${service} from public;
      grant usage on schema ${service} to ${role};
      grant usage, create on schema ${service} to eligo_finder;
      alter role ${role} in database ${database} set search_path = ${service}`);
  }
}

// Roles belong to the whole server: two databases that are set up at once change the same rows of its catalog.
async function retryRaces(run: () => Promise<void>): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await run();
    } catch (error) {
      const isRace = ['23505', '42710', '42P06', 'XX000', '40001', '40P01'].includes(sqlState(error) ?? '');
      if (!isRace || attempt >= 20) throw error;
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 20 * attempt));
    }
  }
}
