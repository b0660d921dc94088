import { randomBytes } from 'node:crypto';
import { create } from '@bufbuild/protobuf';
import { type Database, type DatabaseOptions, migrate, openDatabase, provisionRoles, withTx } from '@eligo/postgres';
import { AccountUpdatedSchema } from '@eligo/proto/events/v1/events';
import { testPasswords } from '@eligo/testkit';
import pg from 'pg';
import { append, type EventLogger, eventsMigrations } from '../src/index.ts';

/** A database with the schemas `alpha` and `beta`, each with outbox and inbox; `effects` of beta counts what a handler did. */
export interface EventsDatabase {
  readonly adminUrl: string;
  open(service: string, options?: Partial<DatabaseOptions>): Database;
  admin<Row extends object = Record<string, unknown>>(text: string, values?: unknown[]): Promise<Row[]>;
  /** Closes what was opened and empties all tables, for the next test of the file. */
  empty(): Promise<void>;
  drop(): Promise<void>;
}

export const scope = { accountId: 'facct_a', testMode: true };

export async function eventsDatabase(): Promise<EventsDatabase> {
  const server = process.env.ELIGO_TEST_POSTGRES_URL;
  if (server === undefined) throw new Error('ELIGO_TEST_POSTGRES_URL is not set');
  const name = `events_test_${randomBytes(6).toString('hex')}`;
  await runOn(server, `create database ${name}`);
  const url = new URL(server);
  url.pathname = `/${name}`;
  const urls = await provisionRoles({
    adminUrl: url.href,
    services: ['alpha', 'beta'],
    // All databases of the test server have the owner in common: whichever file is first creates it with the password that all know.
    passwords: { ...testPasswords(server, ['owner']), alpha: 'alpha', beta: 'beta' },
    newPasswords: true,
  });
  for (const schema of ['alpha', 'beta']) {
    await migrate({
      url: url.href,
      owner: 'eligo_owner',
      schema,
      role: `eligo_${schema}`,
      sources: [eventsMigrations],
    });
  }
  const admin = new pg.Pool({ connectionString: url.href, max: 2 });
  // The database is dropped before the server has let go of it.
  admin.on('error', (error) => void error);
  await admin.query(`
    create table beta.effects (event_id text, at timestamptz default clock_timestamp());
    grant select, insert on beta.effects to eligo_beta`);
  const opened: Database[] = [];
  return {
    adminUrl: url.href,
    open(service, options = {}) {
      const serviceUrl = urls.services[service];
      if (serviceUrl === undefined) throw new Error(`no service ${service}`);
      const database = openDatabase({
        url: serviceUrl,
        applicationName: name,
        max: 6,
        // A machine that stalls refuses no connection that a test asks for.
        connectionWaitMs: 20_000,
        onError: () => undefined,
        ...options,
      });
      opened.push(database);
      return database;
    },
    async admin(text, values = []) {
      return (await admin.query(text, values)).rows;
    },
    async empty() {
      await Promise.all(opened.splice(0).map((database) => database.close()));
      const tables = [
        'outbox',
        'outbox_queue',
        'outbox_positions',
        'outbox_stream',
        'outbox_repairs',
        'inbox',
        'dead_letters',
      ];
      const all = ['alpha', 'beta'].flatMap((schema) => tables.map((table) => `${schema}.${table}`));
      await admin.query(`truncate ${all.join(', ')}, beta.effects`);
      await admin.query(`alter table alpha.outbox_positions enable trigger places_ascend`);
      await admin.query(`update alpha.outbox_pruned set aggregate_seq = 0, event_id = ''`);
    },
    async drop() {
      await Promise.all(opened.map((database) => database.close()));
      await admin.end();
      await runOn(server, `drop database ${name} with (force)`);
    },
  };
}

/** Appends `count` events, each about an aggregate of its own unless one is named, in one transaction. */
export function appendSome(
  database: Database,
  count: number,
  aggregateId?: string,
  type = 'account.updated',
): Promise<string[]> {
  return withTx(database, scope, async (tx) => {
    const ids: string[] = [];
    for (let i = 0; i < count; i++) {
      ids.push(
        await append(tx, {
          type,
          aggregateId: aggregateId ?? `a${randomBytes(8).toString('hex')}`,
          ...scope,
          object: {
            case: 'accountUpdated',
            value: create(AccountUpdatedSchema, { accountId: scope.accountId, version: BigInt(i) }),
          },
        }),
      );
    }
    return ids;
  });
}

/** Keeps what is logged, so that a test can say what was. */
export function recordingLogger(): EventLogger & {
  readonly lines: { level: string; message: string; fields: object }[];
} {
  const lines: { level: string; message: string; fields: object }[] = [];
  const log = (level: string) => (fields: object, message: string) => void lines.push({ level, message, fields });
  return { lines, info: log('info'), warn: log('warn'), error: log('error') };
}

/** Waits until the condition holds; the time is generous, since only a failure uses it up. */
export async function until(condition: () => Promise<boolean> | boolean, timeoutMs = 45_000): Promise<void> {
  const end = performance.now() + timeoutMs;
  while (!(await condition())) {
    if (performance.now() > end) throw new Error('the condition did not come to hold in time');
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

async function runOn(url: string, text: string): Promise<void> {
  const client = new pg.Client(url);
  await client.connect();
  await client.query(text);
  await client.end();
}
