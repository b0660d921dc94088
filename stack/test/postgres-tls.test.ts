import { chmodSync, chownSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  type Database,
  dumpSchema,
  migrate,
  openDatabase,
  openSession,
  provisionRoles,
  unscoped,
} from '@eligo/postgres';
import { tlsProblem } from '@eligo/postgres/connection';
import { testPostgresUrl } from '@eligo/testkit';
import { type TestCertificate, testAuthority } from '@eligo/testkit/certificates';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, expect, it, vi } from 'vitest';
import { copyCluster } from '../src/backup/cluster-copy.ts';
import { type Home, makeHome } from '../src/home.ts';
import { ensureDatabase, socketUrl } from '../src/postgres/database.ts';
import { removeHome } from '../src/postgres/remove.ts';
import { type PostgresServer, startPostgres } from '../src/postgres/server.ts';
import { postgresUser } from '../src/postgres/user.ts';

// A cluster is made here: work for the disk, which other tests use as well.
vi.setConfig({ testTimeout: 60_000 });

const authority = testAuthority();
const stranger = testAuthority();
const isEncrypted = unscoped<{ ssl: boolean }>('test.ssl', 'select ssl from pg_stat_ssl where pid = pg_backend_pid()');
const opened: Database[] = [];
let folder: string;
let home: Home;
let server: PostgresServer;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'eligo-postgres-tls-'));
  chmodSync(folder, 0o755);
  home = makeHome(join(folder, 'home'));
  installOnServer(authority.issue(['127.0.0.1']));
  writeFileSync(join(folder, 'authority.crt'), authority.certificate);
  writeFileSync(join(folder, 'stranger.crt'), stranger.certificate);
  // The server refuses what is not encrypted, so whatever connects over TCP here does it by TLS.
  const accepted = [
    'local all all trust',
    'hostssl all mutual 127.0.0.1/32 cert',
    'hostssl all all 127.0.0.1/32 scram-sha-256',
    'hostssl replication all 127.0.0.1/32 scram-sha-256',
  ];
  writeFileSync(join(folder, 'hba.conf'), `${accepted.join('\n')}\n`, { mode: 0o644 });
  const settings = {
    ...{ ssl: 'on', ssl_cert_file: join(folder, 'server.crt'), ssl_key_file: join(folder, 'server.key') },
    ...{ ssl_ca_file: join(folder, 'authority.crt'), hba_file: join(folder, 'hba.conf') },
  };
  server = await startPostgres(home, { password: 'a password of this test', onTrouble: () => undefined, settings });
});
afterEach(async () => {
  for (const database of opened.splice(0)) await database.close();
});
afterAll(async () => {
  await server.process.stop(5_000);
  removeHome(home);
  rmSync(folder, { recursive: true, force: true });
});

it('connects by verify-full on every path: pool, session, set-up, migration, dump and backup [D14.213]', async () => {
  const url = verified(server.url, 'authority.crt');
  const { database } = open(url);
  expect(await database.row(isEncrypted, null)).toEqual({ ssl: true });
  const session = await openSession(database, 'a session');
  expect(await session.query('select ssl from pg_stat_ssl where pid = pg_backend_pid()')).toEqual([{ ssl: true }]);
  await session.close();

  const adminUrl = await ensureDatabase(url, 'eligo');
  const passwords = { owner: 'owner', alpha: 'alpha' };
  const roles = await provisionRoles({ adminUrl, services: ['alpha'], passwords });
  // Finds out whether the server refuses the passwords, which is a connection of its own.
  await provisionRoles({ adminUrl, services: ['alpha'], passwords });
  const { owner } = roles.roles;
  await migrate({ url: roles.owner, owner, schema: 'alpha', role: roles.roles.ofService('alpha'), sources: [] });
  expect(await dumpSchema(roles.owner, 'alpha')).toContain('Schema alpha');
  const service = open(roles.services.alpha ?? '');
  expect(await service.database.row(isEncrypted, null)).toEqual({ ssl: true });
  await copyCluster(url, join(folder, 'copy'), (copyLog) => copyLog());
});

it('shows a client certificate to a server that asks for one [D14.213]', async () => {
  await askAsAdmin('create role mutual login');
  const { certificate, key } = authority.issue(['mutual']);
  writeFileSync(join(folder, 'client.crt'), certificate);
  writeFileSync(join(folder, 'client.key'), key, { mode: 0o600 });
  const url = new URL(verified(server.url, 'authority.crt'));
  url.username = 'mutual';
  url.password = '';
  await expect(open(url.href).database.ping()).rejects.toThrow(/client certificate/);
  url.searchParams.set('sslcert', join(folder, 'client.crt'));
  url.searchParams.set('sslkey', join(folder, 'client.key'));
  expect(await open(url.href).database.row(isEncrypted, null)).toEqual({ ssl: true });
});

it('refuses a server of another authority, of another name, and one without TLS, and says so [D14.213]', async () => {
  const foreign = open(verified(server.url, 'stranger.crt'));
  await expect(foreign.database.ping()).rejects.toMatchObject({ code: 'service_unavailable' });
  expect(foreign.failures).toEqual([
    { host: '127.0.0.1', reason: expect.stringMatching(/unable to verify|self-signed/) },
  ]);

  const misnamed = open(verified(server.url.replace('127.0.0.1', 'localhost'), 'authority.crt'));
  await expect(misnamed.database.ping()).rejects.toMatchObject({ code: 'service_unavailable' });
  expect(misnamed.failures).toEqual([{ host: 'localhost', reason: expect.stringMatching(/does not match/) }]);

  const plain = open(verified(testPostgresUrl(), 'authority.crt'));
  await expect(plain.database.ping()).rejects.toMatchObject({ code: 'service_unavailable' });
  expect(plain.failures).toMatchObject([{ reason: 'The server does not support SSL connections' }]);

  const unencrypted = open(server.url);
  await expect(unencrypted.database.ping()).rejects.toThrow(/no encryption/);
});

it('takes over a new certificate and a new authority without a restart [D14.213]', async () => {
  const trusted = join(folder, 'trusted.crt');
  writeFileSync(trusted, authority.certificate);
  const { database, failures } = open(verified(server.url, 'trusted.crt'));
  await database.ping();
  // An address is not a host name: a certificate for localhost does not stand for 127.0.0.1.
  installOnServer(stranger.issue(['localhost']));
  await askAsAdmin('select pg_reload_conf()');
  await expect.poll(() => pinged(database), { interval: 50 }).toBe('refused');
  expect(failures).toMatchObject([{ reason: expect.stringMatching(/unable to verify|self-signed/) }]);

  rmSync(trusted);
  expect(await pinged(database)).toBe('refused');
  writeFileSync(trusted, stranger.certificate);
  expect(await pinged(database)).toBe('refused');
  installOnServer(stranger.issue(['127.0.0.1']));
  await askAsAdmin('select pg_reload_conf()');
  await expect.poll(() => pinged(database), { interval: 50 }).toBe('answered');
  expect(await database.row(isEncrypted, null)).toEqual({ ssl: true });
});

it.each([
  ['sslmode=require', 'sslmode must be verify-full or disable'],
  ['sslmode=no-verify', 'sslmode must be verify-full or disable'],
  ['ssl=no-verify', 'of the TLS parameters, only sslmode, sslrootcert, sslcert and sslkey are supported'],
  ['sslrootcert=/nowhere', 'sslrootcert needs sslmode=verify-full'],
  ['sslmode=verify-full&sslcert=/nowhere', 'sslcert and sslkey belong together'],
  ['sslmode=verify-full&sslrootcert=/nowhere', 'the file that sslrootcert names cannot be read'],
])('refuses a database URL with %s, also before it connects [D14.213]', (parameters, problem) => {
  const url = `postgres://eligo@127.0.0.1:1/eligo?${parameters}`;
  expect(tlsProblem(url)).toBe(problem);
  expect(() => openDatabase({ url, applicationName: 'test' })).toThrow(problem);
});

function verified(url: string, authorityFile: string): string {
  const target = new URL(url);
  target.searchParams.set('sslmode', 'verify-full');
  target.searchParams.set('sslrootcert', join(folder, authorityFile));
  return target.href;
}

function open(url: string) {
  const failures: { host: string; reason: string }[] = [];
  const onTlsFailed = (failure: { host: string; reason: string }) => failures.push(failure);
  const database = openDatabase({ url, applicationName: 'test', max: 1, onTlsFailed, onError: () => undefined });
  opened.push(database);
  return { database, failures };
}

/** Whether a new connection comes about. */
async function pinged(database: Database): Promise<'answered' | 'refused'> {
  await askAsAdmin("select pg_terminate_backend(pid, 1000) from pg_stat_activity where application_name = 'test'");
  // The pool may not have noticed yet that its connection is gone.
  await database.ping().catch(() => undefined);
  return database.ping().then(
    () => 'answered',
    () => 'refused',
  );
}

async function askAsAdmin(text: string): Promise<void> {
  const client = new pg.Client(socketUrl(server.url, server.socketFolder ?? ''));
  await client.connect();
  await client.query(text);
  await client.end();
}

// Postgres reads its key only if nobody else can.
function installOnServer({ certificate, key }: TestCertificate): void {
  writeFileSync(join(folder, 'server.crt'), certificate);
  writeFileSync(join(folder, 'server.key'), key, { mode: 0o600 });
  const user = postgresUser();
  if (user !== undefined) chownSync(join(folder, 'server.key'), user.uid, user.gid);
}
