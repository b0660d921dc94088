import pg from 'pg';
import { connectionTo } from './connection-tls.ts';
import { sqlState } from './errors.ts';
import { roleNames } from './role-names.ts';
import { roleUrl } from './role-url.ts';

/** The installation of Eligo that sets a database up. */
export interface InstallationClaim {
  /** The name that the database's installation must have: ELIGO_INSTALLATION. Without one it is what the database says. */
  readonly installation?: string | undefined;
  /** The name that a database is given which has none yet ('' by default, no name). */
  readonly newInstallation?: string | undefined;
}

/** The database, or its server's roles, belong to another installation. Nothing was changed. */
export class AnotherInstallation extends Error {
  constructor(message: string) {
    super(`${message} Nothing was changed.`);
    this.name = 'AnotherInstallation';
  }
}

/** Reads which installation a database belongs to, or would if it were set up now. Throws AnotherInstallation. */
export async function installationOf(adminUrl: string, claim: InstallationClaim): Promise<string> {
  const client = new pg.Client({ ...connectionTo(adminUrl), application_name: 'eligo installation' });
  client.on('error', (error) => process.emitWarning(`reading the installation: ${error.message}`));
  await client.connect();
  try {
    return (await claimedInstallation(client, claim)).name;
  } finally {
    await client.end();
  }
}

/** The same, over a connection to the database, and whether the database belongs to it already. */
export async function claimedInstallation(
  client: pg.Client,
  claim: InstallationClaim,
): Promise<{ name: string; isRecorded: boolean }> {
  const found = await recordedInstallation(client);
  const { installation } = claim;
  if (found !== undefined && installation !== undefined && found !== installation) {
    throw new AnotherInstallation(
      `This database belongs to the Eligo installation ${named(found)}, but ELIGO_INSTALLATION is "${installation}".`,
    );
  }
  return { name: found ?? installation ?? claim.newInstallation ?? '', isRecorded: found !== undefined };
}

/** Writes down which installation the database belongs to. */
export async function recordInstallation(client: pg.Client, installation: string): Promise<void> {
  await client.query(`
    create schema if not exists eligo;
    create table if not exists eligo.installation (
      only_one boolean primary key default true check (only_one),
      name text not null check (name ~ '^[a-z0-9]{0,20}$'),
      created_at timestamptz(3) not null default now()
    );
    grant usage on schema eligo to public;
    grant select on eligo.installation to public;
    insert into eligo.installation (name) values (${client.escapeLiteral(installation)}) on conflict do nothing`);
}

/**
 * Refuses roles that are another installation's: one that exists does not take the password that is given for it. Where none is given for any, they
 * are another's when they have something in another database and nothing in this one.
 */
export async function refuseForeignRoles(
  client: pg.Client,
  adminUrl: string,
  roles: {
    readonly existing: readonly string[];
    readonly passwords: ReadonlyMap<string, string>;
    /** Whether the database belongs to these roles' installation already. */
    readonly isRecorded: boolean;
  },
): Promise<void> {
  const known = roles.existing.flatMap((role) => {
    const password = roles.passwords.get(role);
    return password === undefined ? [] : [{ role, password }];
  });
  const refused = await Promise.all(known.map(({ role, password }) => isRefused(roleUrl(adminUrl, role, password))));
  const foreign = known.find((_, at) => refused[at]);
  if (foreign !== undefined) throw new AnotherInstallation(foreignRoleText(foreign.role, roles.isRecorded));
  if (roles.isRecorded || known.length > 0 || roles.existing.length === 0) return;
  const { rows } = await client.query<{ role: string }>(servesElsewhere, [roles.existing]);
  if (rows[0] !== undefined) throw new AnotherInstallation(foreignRoleText(rows[0].role, false));
}

// What was set up before installations had names wrote none down: its schemas are there.
async function recordedInstallation(client: pg.Client): Promise<string | undefined> {
  const { rows } = await client.query<{ recorded: boolean; before: boolean }>(
    `select exists (select from pg_tables where schemaname = 'eligo' and tablename = 'installation') as recorded,
       exists (select from pg_namespace n join pg_roles r on r.oid = n.nspowner
                where n.nspname <> 'eligo' and r.rolname = $1) as before`,
    [roleNames('').owner],
  );
  if (rows[0]?.recorded !== true) return rows[0]?.before === true ? '' : undefined;
  const { rows: names } = await client.query<{ name: string }>('select name from eligo.installation');
  return names[0]?.name;
}

// Of the databases of this server, those in which a role owns something or may do something; 1262 is pg_database itself.
const servesElsewhere = `
  select r.rolname as role from pg_roles r
   where r.rolname = any ($1)
     and exists (select from pg_shdepend d join pg_database b on b.oid = d.dbid
                  where d.refclassid = 'pg_authid'::regclass and d.refobjid = r.oid and b.datname <> current_database())
     and not exists (select from pg_shdepend d join pg_database b on b.oid = d.dbid
                  where d.refclassid = 'pg_authid'::regclass and d.refobjid = r.oid and b.datname = current_database())
   order by 1 limit 1`;

// Whether the server refuses the password. A role that may not connect to this database has been let in by then.
async function isRefused(url: string): Promise<boolean> {
  const client = new pg.Client({ ...connectionTo(url), application_name: 'eligo installation' });
  client.on('error', (error) => process.emitWarning(`checking a role's password: ${error.message}`));
  try {
    await client.connect();
    return false;
  } catch (error) {
    if (sqlState(error) === '28P01') return true;
    if (sqlState(error) === '42501') return false;
    throw error;
  } finally {
    await client.end();
  }
}

function foreignRoleText(role: string, isRecorded: boolean): string {
  const what = isRecorded
    ? `This database belongs to another Eligo installation: its role ${role} has a different password. Use a separate database for this installation.`
    : `This Postgres server already has the role ${role} of another Eligo installation. Set ELIGO_INSTALLATION to a unique name.`;
  return `${what} If the role is yours and you want to change its password, run \`eligo migrate --new-passwords\`.`;
}

function named(installation: string): string {
  return installation === '' ? 'that has no name' : `"${installation}"`;
}
