import { randomBytes } from 'node:crypto';
import { Writable } from 'node:stream';
import { eventsMigrations } from '@eligo/events';
import { migrate, provisionRoles } from '@eligo/postgres';
import {
  generateComponentKeys,
  generateProofKey,
  type Login,
  type OperatorRequest,
  openIdentity,
  operatorHeaders,
  signLogin,
} from '@eligo/rpc';
import pg from 'pg';
import { type EnvironmentRecord, operatorMigrations } from '../src/index.ts';

export const keys = generateComponentKeys(['gateway', 'catalog', 'checkout', 'billing', 'operator']);

const proofKey = generateProofKey();

/** The headers of a call by an operator whose login allows all reads, signed by the operators' key unless another one is given. */
export function headersAs(name: string, call: OperatorRequest, operatorKey = keys.privateKeys.operator ?? '') {
  const login: Login = {
    ...{ operator: { id: 'foper_1', name }, loginId: 'login_1', allows: ['reads'] },
    ...{ expiresAtMs: Date.now() + 60_000, proofKey: proofKey.publicKey },
  };
  return operatorHeaders(call, { token: signLogin(login, operatorKey), proofKey: proofKey.privateKey });
}

/** The identity of a component of these tests. */
export function identityOf(name: 'gateway' | 'catalog' | 'checkout' | 'billing') {
  return openIdentity({ name, privateKey: keys.privateKeys[name] ?? '', publicKeys: keys.publicKeys });
}

/** A database of its own with a service's schema, which holds no more than outbox and inbox. */
export async function serviceDatabase(
  service: string,
): Promise<{ url: string; adminUrl: string; drop(): Promise<void> }> {
  const server = process.env.ELIGO_TEST_POSTGRES_URL;
  if (server === undefined) throw new Error('ELIGO_TEST_POSTGRES_URL is not set');
  const name = `service_test_${randomBytes(6).toString('hex')}`;
  await runOn(server, `create database ${name}`);
  const admin = new URL(server);
  admin.pathname = `/${name}`;
  const urls = await provisionRoles({
    adminUrl: admin.href,
    services: [service],
    installation: `s${randomBytes(4).toString('hex')}`,
    passwords: { [service]: service },
  });
  const { owner, finder } = urls.roles;
  const role = urls.roles.ofService(service);
  await migrate({
    url: admin.href,
    owner,
    finder,
    schema: service,
    role,
    sources: [eventsMigrations, operatorMigrations],
  });
  return {
    url: urls.services[service] ?? '',
    adminUrl: admin.href,
    async drop() {
      await runOn(server, `drop database ${name} with (force)`);
      // Roles belong to the server and stay behind.
      for (const left of [role, owner, finder]) await runOn(server, `drop role ${left}`);
    },
  };
}

async function runOn(url: string, text: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(text);
  } finally {
    await client.end();
  }
}

/** The environment of a catalog service. */
export function catalogEnvironment(databaseUrl: string): EnvironmentRecord {
  return {
    ELIGO_ENV: 'test',
    CATALOG_DATABASE_URL: databaseUrl,
    NATS_URL: process.env.ELIGO_TEST_NATS_URL,
    ELIGO_SERVICE_KEY: keys.privateKeys.catalog,
    ELIGO_SERVICE_PUBLIC_KEYS: JSON.stringify(keys.publicKeys),
    ELIGO_OPERATOR_PUBLIC_KEY: keys.publicKeys.operator,
    ELIGO_FAILPOINTS: 'on',
  };
}

/** A place for log lines to be looked at. */
export function logLines(): { destination: Writable; text(): string; lines(): Record<string, unknown>[] } {
  let text = '';
  const destination = new Writable({
    write(chunk, _encoding, done) {
      text += String(chunk);
      done();
    },
  });
  return {
    destination,
    text: () => text,
    lines: () =>
      text
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line) as Record<string, unknown>),
  };
}
