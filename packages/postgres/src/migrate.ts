import pg from 'pg';
import { connectionTo } from './connection-tls.ts';
import { isLockMissing } from './errors.ts';
import { expectLargeAccounts } from './expect-large-accounts.ts';
import { expectWaitingWork } from './expect-waiting-work.ts';
import { type Migration, type MigrationSource, readMigrations } from './migration-source.ts';
import { isIndexAsStated } from './repeated-index.ts';
import { splitStatements } from './sql-text.ts';

/**
 * What to migrate. `:"schema"` and `:"role"` in a file stand for the quoted names, as psql has it. `eligo_finder` and `eligo_<schema>` stand for the
 * roles too, which have other names in an installation that has a name.
 */
export interface MigrateOptions {
  /** A connection as the schema's owner, or as a role that may `set role` to it. */
  readonly url: string;
  readonly schema: string;
  /** The service's own role: it may read and write the tables that the files make, unless they revoke it. */
  readonly role: string;
  /** The role that owns functions which find rows across accounts (`eligo_finder`). */
  readonly finder?: string;
  readonly sources: readonly MigrationSource[];
  /** How long a file waits for a table's lock before it lets the queries behind it pass and tries again (2,000). */
  readonly lockTimeoutMs?: number;
  /** How often a file that did not get its lock is tried (10). */
  readonly lockAttempts?: number;
  /** How long to wait for another migration of the same schema (120,000). */
  readonly waitMs?: number;
  /** The role that owns what the files make; the connection's own by default. */
  readonly owner?: string;
}

/** What a migration did. */
export interface MigrateResult {
  /** The ids of the files that were applied now. */
  readonly applied: string[];
  /** Ids in the history that these sources do not have: a newer release has been here. */
  readonly ahead: string[];
}

/**
 * Brings a schema up to its sources: one history table and one advisory lock per schema, each file in a transaction of its own (unless its
 * header says `no-transaction`). Refuses a file that changed after it was applied and one that would be applied before an older one.
 */
export async function migrate(options: MigrateOptions): Promise<MigrateResult> {
  const migrations = await readMigrations(options.sources);
  const client = new pg.Client({
    ...connectionTo(options.url),
    application_name: `migrate ${options.schema}`,
    statement_timeout: 0,
    keepAlive: true,
  });
  // What ends the connection also rejects the statement that is waited for.
  client.on('error', (error) => process.emitWarning(`migrating ${options.schema}: ${error.message}`));
  await client.connect();
  try {
    await prepare(client, options);
    const history = await readHistory(client, options.schema);
    const pending = pendingOf(migrations, history);
    for (const migration of pending) {
      await withLocks(options, migration.id, () => apply(client, migration, options));
    }
    await withLocks(options, 'account statistics', () => expectLargeAccounts(client, options.schema));
    await withLocks(options, 'work statistics', () => expectWaitingWork(client, options.schema));
    const known = new Set(migrations.map(({ id }) => id));
    return { applied: pending.map(({ id }) => id), ahead: [...history.keys()].filter((id) => !known.has(id)) };
  } finally {
    // Closing the session also releases the advisory lock.
    await client.end();
  }
}

async function prepare(client: pg.Client, options: MigrateOptions): Promise<void> {
  const schema = client.escapeIdentifier(options.schema);
  const role = client.escapeIdentifier(options.role);
  if (options.owner !== undefined) await client.query(`set role ${client.escapeIdentifier(options.owner)}`);
  await client.query(`set lock_timeout = ${options.waitMs ?? 120_000}`);
  await client.query('select pg_advisory_lock(hashtextextended($1, 0))', [`eligo.migrate.${options.schema}`]);
  await client.query(`set lock_timeout = ${options.lockTimeoutMs ?? 2_000}`);
  const { rows } = await client.query('select 1 from pg_namespace where nspname = $1', [options.schema]);
  if (rows.length === 0) await client.query(`create schema ${schema}`);
  await client.query(`set search_path = ${schema}`);
  await client.query(`
    grant usage on schema ${schema} to ${role};
    alter default privileges in schema ${schema} grant select, insert, update, delete on tables to ${role};
    alter default privileges in schema ${schema} grant usage on sequences to ${role};
    alter default privileges revoke execute on functions from public;
    alter default privileges in schema ${schema} grant execute on functions to ${role};
    create table if not exists migrations (
      id text collate "C" primary key,
      checksum text not null,
      applied_at timestamptz(3) not null default now()
    );
    revoke insert, update, delete on migrations from ${role}`);
}

async function readHistory(client: pg.Client, schema: string): Promise<Map<string, string>> {
  const table = `${client.escapeIdentifier(schema)}.migrations`;
  const { rows } = await client.query<{ id: string; checksum: string }>(
    `select id, checksum from ${table} order by id`,
  );
  return new Map(rows.map(({ id, checksum }) => [id, checksum]));
}

function pendingOf(migrations: readonly Migration[], history: ReadonlyMap<string, string>): Migration[] {
  const pending: Migration[] = [];
  for (const migration of migrations) {
    const applied = history.get(migration.id);
    if (applied === undefined) {
      pending.push(migration);
      continue;
    }
    if (applied !== migration.checksum) throw new Error(`${migration.id} has changed since it was applied`);
    const source = migration.id.slice(0, migration.id.indexOf('/') + 1);
    const skipped = pending.find(({ id }) => id.startsWith(source));
    if (skipped !== undefined) throw new Error(`${skipped.id} sorts before ${migration.id}, which is already applied`);
  }
  return pending;
}

// Repeats work that did not get its locks, or that a deadlock with a running query has ended, and lets the queries behind it pass in between.
async function withLocks(options: MigrateOptions, what: string, work: () => Promise<void>): Promise<void> {
  const attempts = options.lockAttempts ?? 10;
  for (let attempt = 1; ; attempt++) {
    try {
      return await work();
    } catch (error) {
      if (!isLockMissing(error) || attempt >= attempts) {
        throw new Error(`${what}: ${error instanceof Error ? error.message : 'failed'}`, { cause: error });
      }
      await new Promise((resolve) => setTimeout(resolve, 50 * 2 ** Math.min(attempt, 5)));
    }
  }
}

async function apply(client: pg.Client, migration: Migration, options: MigrateOptions): Promise<void> {
  if (migration.noTransaction) await applyOutsideTransaction(client, migration, options);
  else await applyInTransaction(client, migration, options);
}

async function applyInTransaction(client: pg.Client, migration: Migration, options: MigrateOptions): Promise<void> {
  try {
    await client.query('begin');
    await client.query(named(client, migration.sql, options));
    await record(client, migration);
    const { command } = await client.query('commit');
    if (command !== 'COMMIT') throw new Error(`COMMIT returned ${command}`);
  } catch (error) {
    await client.query('rollback');
    throw error;
  }
}

async function applyOutsideTransaction(
  client: pg.Client,
  migration: Migration,
  options: MigrateOptions,
): Promise<void> {
  await dropInvalidIndexes(client, migration, options.schema);
  for (const { text } of splitStatements(named(client, migration.sql, options))) {
    if (!(await isIndexAsStated(client, text))) await client.query(text);
  }
  await record(client, migration);
}

// What a CREATE INDEX CONCURRENTLY that died has left: it serves no query, slows every write, and holds the name.
async function dropInvalidIndexes(client: pg.Client, migration: Migration, schema: string): Promise<void> {
  const { rows } = await client.query<{ name: string }>(
    `select c.relname as name from pg_index i join pg_class c on c.oid = i.indexrelid
      where c.relnamespace = to_regnamespace($1) and not i.indisvalid`,
    [client.escapeIdentifier(schema)],
  );
  for (const { name } of rows) {
    if (!new RegExp(`\\b${name}\\b`).test(migration.sql)) continue;
    await client.query(`drop index concurrently ${client.escapeIdentifier(name)}`);
  }
}

async function record(client: pg.Client, migration: Migration): Promise<void> {
  await client.query('insert into migrations (id, checksum) values ($1, $2)', [migration.id, migration.checksum]);
}

function named(client: pg.Client, sql: string, { schema, role, finder = 'eligo_finder' }: MigrateOptions): string {
  return sql
    .replaceAll(':"schema"', client.escapeIdentifier(schema))
    .replaceAll(':"role"', client.escapeIdentifier(role))
    .replace(/\beligo_finder\b/g, finder)
    .replace(new RegExp(`\\beligo_${schema}\\b`, 'g'), role);
}
