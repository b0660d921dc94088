import { randomBytes } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { testPasswords } from '@eligo/testkit';
import pg from 'pg';
import {
  type Database,
  type DatabaseOptions,
  idempotencyMigrations,
  migrate,
  openDatabase,
  provisionRoles,
} from '../src/index.ts';

/** A database of its own with the schemas `alpha` and `beta`, each migrated and owned as a service's is. */
export interface TestDatabase {
  readonly adminUrl: string;
  urlOf(service: string): string;
  open(service?: string, options?: Partial<DatabaseOptions>): Database;
  /** One statement as the superuser. */
  admin(text: string, values?: unknown[]): Promise<Record<string, unknown>[]>;
  drop(): Promise<void>;
}

export const things = { name: 'things', directory: fileURLToPath(new URL('./migrations', import.meta.url)) };

export async function testDatabase(): Promise<TestDatabase> {
  const server = process.env.ELIGO_TEST_POSTGRES_URL;
  if (server === undefined) throw new Error('ELIGO_TEST_POSTGRES_URL is not set');
  const name = `postgres_test_${randomBytes(6).toString('hex')}`;
  await runOn(server, `create database ${name}`);
  const url = new URL(server);
  url.pathname = `/${name}`;
  const adminUrl = url.href;
  const urls = await provisionRoles({
    adminUrl,
    services: ['alpha', 'beta'],
    // All databases of the test server have the owner in common: whichever file is first creates it with the password that all know.
    passwords: { ...testPasswords(server, ['owner']), alpha: 'alpha', beta: 'beta' },
    newPasswords: true,
  });
  for (const schema of ['alpha', 'beta']) {
    await migrate({
      url: adminUrl,
      owner: 'eligo_owner',
      schema,
      role: `eligo_${schema}`,
      sources: [things, idempotencyMigrations],
    });
  }
  const opened: Database[] = [];
  const urlOf = (service: string) => urls.services[service] ?? adminUrl;
  const admin = new pg.Pool({ connectionString: adminUrl, max: 2 });
  // The database is dropped before the server has let go of it.
  admin.on('error', (error) => void error);
  return {
    adminUrl,
    urlOf,
    open(service = 'alpha', options = {}) {
      const database = openDatabase({
        url: urlOf(service),
        applicationName: name,
        max: 4,
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
    async drop() {
      await Promise.all(opened.map((database) => database.close()));
      await admin.end();
      await runOn(server, `drop database ${name} with (force)`);
    },
  };
}

async function runOn(url: string, text: string): Promise<void> {
  const client = new pg.Client(url);
  await client.connect();
  await client.query(text);
  await client.end();
}
