import { createHash, randomBytes } from 'node:crypto';
import {
  admitRoles,
  type Database,
  type DatabaseOptions,
  type MigrationSource,
  migrate,
  openDatabase,
  provisionRoles,
  readMigrations,
  roleNames,
  roleUrl,
  serviceRole,
} from '@eligo/postgres';
import pg from 'pg';

/** A schema and what it is made from; a service's composition is one. */
export interface Schema {
  readonly name: string;
  readonly migrations: readonly MigrationSource[];
}

/** A database of its own on the test server, with the schemas asked for. */
export interface TestDatabase {
  readonly name: string;
  /** As the superuser, as the owner of the schemas, and as a service's own role. */
  readonly adminUrl: string;
  readonly ownerUrl: string;
  urlOf(schema: string): string;
  /** A pool as the service has it (the first schema's by default); closed by `drop`. */
  open(schema?: string, options?: Partial<DatabaseOptions>): Database;
  /** One statement as the superuser, whom row-level security does not bind. */
  admin<Row extends pg.QueryResultRow = Record<string, unknown>>(text: string, values?: unknown[]): Promise<Row[]>;
  /** Whoever shares it may each do so. */
  drop(): Promise<void>;
}

// Tests are of the installation without a name.
const roles = roleNames('');

/** The Postgres server of this test run, as its superuser. */
export function testPostgresUrl(): string {
  const url = process.env.ELIGO_TEST_POSTGRES_URL;
  if (!url) throw new Error('ELIGO_TEST_POSTGRES_URL is not set: vitest runs with the global set-up of @eligo/testkit');
  return url;
}

/**
 * A new database with the given schemas, copied from a template that is migrated once per server and set of migrations.
 * Roles belong to the server, so all its databases share them.
 */
export function testDatabase(...schemas: Schema[]): Promise<TestDatabase> {
  return testDatabaseOn(testPostgresUrl(), schemas);
}

/** The same on a server of the test's own, as its superuser; the URL's parameters hold for every role. */
export async function testDatabaseOn(server: string, schemas: readonly Schema[]): Promise<TestDatabase> {
  const template = await templateOf(server, schemas);
  const name = `test_${randomBytes(8).toString('hex')}`;
  const services = schemas.map((schema) => schema.name);
  await withClient(server, async (client) => {
    await client.query(`create database ${name} template ${template}`);
    await admitRoles(client, { database: name, roles, services });
  });
  const adminUrl = databaseUrl(server, name);
  const passwords = testPasswords(server, ['owner', ...services]);
  const admin = new pg.Pool({ connectionString: adminUrl, max: 2 });
  admin.on('error', (error) => process.emitWarning(`the test's own connection: ${error.message}`));
  const opened: Database[] = [];
  const urlOf = (schema: string) => {
    if (!services.includes(schema)) throw new Error(`this database has no schema ${schema}`);
    return roleUrl(adminUrl, roles.ofService(schema), passwords[schema]);
  };
  let dropping: Promise<void> | undefined;
  const dropNow = async () => {
    await Promise.all(opened.map((database) => database.close()));
    await admin.end();
    await withClient(server, (client) => client.query(`drop database if exists ${name} with (force)`));
  };
  return {
    name,
    adminUrl,
    ownerUrl: roleUrl(adminUrl, roles.owner, passwords.owner),
    urlOf,
    open(schema = schemas[0]?.name ?? '', options = {}) {
      const database = openDatabase({
        url: urlOf(schema),
        applicationName: name,
        max: 4,
        // A machine that stalls refuses no connection that a test asks for.
        connectionWaitMs: 20_000,
        readsByKey: true,
        schema,
        ...options,
      });
      opened.push(database);
      return database;
    },
    async admin<Row extends pg.QueryResultRow>(text: string, values: unknown[] = []) {
      return (await admin.query<Row>(text, values)).rows;
    },
    drop() {
      dropping ??= dropNow();
      return dropping;
    },
  };
}

/** The passwords of the roles on a test server: the same for all who use it, since roles belong to the server. */
export function testPasswords(serverUrl: string, roles: readonly string[]): Record<string, string> {
  const secret = new URL(serverUrl).password;
  const passwordOf = (role: string) => createHash('sha256').update(`${secret} ${role}`).digest('hex');
  return Object.fromEntries(roles.map((role) => [role, passwordOf(role)]));
}

function provision(adminUrl: string, schemas: readonly Schema[]) {
  const services = schemas.map(({ name }) => name);
  return provisionRoles({ adminUrl, services, passwords: testPasswords(adminUrl, ['owner', ...services]) });
}

const templates = new Map<string, Promise<string>>();

/** Migrations do not change while tests run, so that a process reads them once. */
function templateOf(server: string, schemas: readonly Schema[]): Promise<string> {
  const key = JSON.stringify([server, schemas]);
  const known = templates.get(key);
  if (known !== undefined) return known;
  const made = templateFor(server, schemas);
  templates.set(key, made);
  made.catch(() => templates.delete(key));
  return made;
}

async function templateFor(server: string, schemas: readonly Schema[]): Promise<string> {
  const name = `template_${await fingerprint(schemas)}`;
  const client = new pg.Client(server);
  await client.connect();
  try {
    // Of the test files that start at once, one makes the template; the others wait for it.
    await client.query('select pg_advisory_lock(hashtextextended($1, 0))', [name]);
    const known = await client.query('select 1 from pg_database where datname = $1', [name]);
    if (known.rows.length > 0) return name;
    const draft = `${name}_draft`;
    await client.query(`drop database if exists ${draft} with (force)`);
    await client.query(`create database ${draft}`);
    const urls = await provision(databaseUrl(server, draft), schemas);
    for (const schema of schemas) {
      await migrate({
        url: urls.owner,
        schema: schema.name,
        role: serviceRole(schema.name),
        sources: schema.migrations,
      });
    }
    await client.query(`alter database ${draft} rename to ${name}`);
    return name;
  } finally {
    await client.end();
  }
}

async function fingerprint(schemas: readonly Schema[]): Promise<string> {
  const hash = createHash('sha256');
  for (const schema of schemas) {
    hash.update(`${schema.name}\n`);
    for (const { id, checksum } of await readMigrations(schema.migrations)) hash.update(`${id} ${checksum}\n`);
  }
  return hash.digest('hex').slice(0, 24);
}

function databaseUrl(server: string, name: string): string {
  const url = new URL(server);
  url.pathname = `/${name}`;
  return url.href;
}

async function withClient(url: string, work: (client: pg.Client) => Promise<unknown>): Promise<void> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    await work(client);
  } finally {
    await client.end();
  }
}
