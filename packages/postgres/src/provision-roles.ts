import pg from 'pg';
import { connectionTo } from './connection-tls.ts';
import { sqlState } from './errors.ts';
import { claimedInstallation, type InstallationClaim, recordInstallation, refuseForeignRoles } from './installation.ts';
import { type RoleNames, roleNames } from './role-names.ts';
import { roleUrl } from './role-url.ts';

/** Which roles to provide for. */
export interface ProvisionOptions extends InstallationClaim {
  /** A connection, as a superuser or as a role that may create roles and owns the database, to the database to provide for. */
  readonly adminUrl: string;
  /** The services, each with a schema of its name and a role of its own. */
  readonly services: readonly string[];
  /** Passwords by service (`owner` too); a role without one keeps what it has. */
  readonly passwords?: Readonly<Record<string, string>>;
  /** Gives roles that exist these passwords. Else they must have them already: a role that does not is another installation's. */
  readonly newPasswords?: boolean;
}

/** What was provided, and where to connect. */
export interface Provisioned {
  readonly installation: string;
  readonly roles: RoleNames;
  readonly owner: string;
  /** By service. */
  readonly services: Readonly<Record<string, string>>;
}

/**
 * Creates, or completes, the roles and schemas of one installation: the owner owns what migrations make, the finder (which cannot log in) owns
 * the functions that find due rows across accounts, and each service's role reaches its own schema and nothing else. Throws AnotherInstallation,
 * before anything is changed, when the database or the roles are another's. Safe to run again, and by several at once.
 */
export async function provisionRoles(options: ProvisionOptions): Promise<Provisioned> {
  const { adminUrl, services, passwords } = options;
  const client = new pg.Client({ ...connectionTo(adminUrl), application_name: 'provision roles' });
  client.on('error', (error) => process.emitWarning(`provisioning roles: ${error.message}`));
  await client.connect();
  try {
    // Of two that set up one database, the second finds what the first wrote down. Closing the session gives the lock back.
    await client.query("select pg_advisory_lock(hashtextextended('eligo.installation', 0))");
    const { name: installation, isRecorded } = await claimedInstallation(client, options);
    const roles = roleNames(installation);
    await retryRaces(() => createRoles(client, roles, isRecorded, options));
    await recordInstallation(client, installation);
    await retryRaces(() => createSchemas(client, roles, options));
    return {
      installation,
      roles,
      owner: roleUrl(adminUrl, roles.owner, passwords?.owner),
      services: Object.fromEntries(
        services.map((service) => [service, roleUrl(adminUrl, roles.ofService(service), passwords?.[service])]),
      ),
    };
  } finally {
    await client.end();
  }
}

async function createRoles(
  client: pg.Client,
  roles: RoleNames,
  isRecorded: boolean,
  options: ProvisionOptions,
): Promise<void> {
  const { adminUrl, services, newPasswords } = options;
  const logins = [roles.owner, ...services.map((service) => roles.ofService(service))];
  const passwords = passwordsByRole(roles, options);
  const { rows } = await client.query<{ rolname: string }>('select rolname from pg_roles');
  const existing = new Set(rows.map(({ rolname }) => rolname));
  if (newPasswords !== true) {
    const there = logins.filter((role) => existing.has(role));
    await refuseForeignRoles(client, adminUrl, { existing: there, passwords, isRecorded });
  }
  const { rows: me } = await client.query<{ super: boolean }>(
    'select rolsuper as super from pg_roles where rolname = current_user',
  );
  if (!existing.has(roles.finder)) await client.query(`create role ${roles.finder} nologin nobypassrls`);
  for (const role of logins) {
    const given = passwords.get(role);
    const password = given === undefined ? '' : `password ${client.escapeLiteral(given)}`;
    // In one statement: a role that exists without its password would be taken for another installation's.
    if (!existing.has(role)) {
      await client.query(`create role ${role} login nocreatedb nocreaterole nobypassrls ${password}`);
    } else if (newPasswords === true && given !== undefined) await client.query(`alter role ${role} ${password}`);
  }
  // The owner hands functions over to the finder, for which it must be able to become it.
  await client.query(`grant ${roles.finder} to ${roles.owner}`);
  if (me[0]?.super !== true) await client.query(`grant ${roles.owner} to current_user`);
}

function passwordsByRole(roles: RoleNames, { services, passwords = {} }: ProvisionOptions): Map<string, string> {
  const given = [['owner', roles.owner] as const, ...services.map((name) => [name, roles.ofService(name)] as const)];
  return new Map(
    given.flatMap(([name, role]) => {
      const password = passwords[name];
      return password === undefined ? [] : [[role, password] as const];
    }),
  );
}

async function createSchemas(client: pg.Client, roles: RoleNames, { services }: ProvisionOptions): Promise<void> {
  const { rows } = await client.query<{ name: string }>('select current_database() as name');
  await admitRoles(client, { database: rows[0]?.name ?? '', roles, services });
  await client.query('revoke all on schema public from public');
  for (const service of services) {
    const role = roles.ofService(service);
    await client.query(`
      create schema if not exists ${service} authorization ${roles.owner};
      revoke all on schema ${service} from public;
      grant usage on schema ${service} to ${role};
      grant usage, create on schema ${service} to ${roles.finder}`);
  }
}

/**
 * Lets an installation's roles, and nobody else, connect to a database, each to its service's schema. A copy of a database has neither its grants nor its
 * roles' settings. `client` may be connected to any database of the server.
 */
export async function admitRoles(
  client: pg.Client,
  to: { readonly database: string; readonly roles: RoleNames; readonly services: readonly string[] },
): Promise<void> {
  const { roles, services } = to;
  const database = client.escapeIdentifier(to.database);
  const ofServices = services.map((service) => {
    const role = roles.ofService(service);
    return `
      grant connect on database ${database} to ${role};
      alter role ${role} in database ${database} set search_path = ${service};`;
  });
  await client.query(`
    revoke all on database ${database} from public;
    grant connect on database ${database} to ${roles.owner};
    ${ofServices.join('')}`);
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
