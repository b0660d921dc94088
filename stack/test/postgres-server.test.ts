import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { processIdentity } from '@eligo/processes/processes';
import { waitUntil } from '@eligo/testkit';
import pg from 'pg';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { type Home, makeHome } from '../src/home.ts';
import { socketUrl } from '../src/postgres/database.ts';
import { choosePlace, clusterIn } from '../src/postgres/place.ts';
import { removeHome } from '../src/postgres/remove.ts';
import { type PostgresServer, startPostgres } from '../src/postgres/server.ts';
import { postgresUser } from '../src/postgres/user.ts';

// Clusters are made and recovered here: work for the disk, which other tests use as well.
vi.setConfig({ testTimeout: 120_000 });

let parent: string;
let home: Home;
let server: PostgresServer | undefined;
let told: string[];

beforeEach(() => {
  told = [];
  parent = mkdtempSync(join(tmpdir(), 'eligo-postgres-'));
  chmodSync(parent, 0o755);
  home = makeHome(join(parent, 'home'));
});

afterEach(async () => {
  await server?.process.stop(5_000);
  server = undefined;
  removeHome(home);
  rmSync(parent, { recursive: true, force: true });
});

async function start(): Promise<PostgresServer> {
  server = await startPostgres(home, { password: 'a password of this test', onTrouble: (text) => told.push(text) });
  return server;
}

async function ask(url: string, text: string): Promise<unknown> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    return (await client.query<{ value: unknown }>(text)).rows[0]?.value;
  } finally {
    await client.end();
  }
}

// A process of Postgres's user that has ended under a parent that never looks: a shell reaps, so the child ends
// only when `sleep` has taken the shell's place.
async function newZombie(): Promise<{ pid: number; end: () => void }> {
  const parent = spawn('sh', ['-c', 'exec 3<&0; sh -c "read -r line" <&3 & echo $!; exec sleep 60'], {
    ...postgresUser(),
    cwd: '/',
  });
  const [line] = (await once(parent.stdout, 'data')) as [Buffer];
  const pid = Number(String(line));
  await waitUntil(() => readFileSync(`/proc/${parent.pid}/comm`, 'utf8') === 'sleep\n', { what: 'the sleep' });
  parent.stdin.end();
  await waitUntil(() => existsSync(`/proc/${pid}`) && processIdentity(pid) === undefined, { what: 'a zombie' });
  return { pid, end: () => parent.kill('SIGKILL') };
}

it('needs the password, keeps fsync on, and keeps its data from one start to the next, also beside the zombie of a killed server [D14.226]', async () => {
  const { url, process } = await start();
  await expect(ask(url.replace('a password', 'another'), 'select 1')).rejects.toThrow('password authentication failed');
  await expect(ask(url, `select current_setting('fsync') as value`)).resolves.toBe('on');
  await expect(ask(url, `select lower('ÄÖÜ') as value`)).resolves.toBe('äöü');
  await ask(url, 'create table kept as select 7 as value');
  await process.stop(5_000);
  // A killed server that nothing has reaped: its lock names a pid that is still taken.
  const zombie = await newZombie();
  const cluster = clusterIn(choosePlace(home, postgresUser()).data);
  const lock = join(cluster, 'postmaster.pid');
  writeFileSync(lock, `${zombie.pid}\n`);
  const { uid, gid } = statSync(cluster);
  chownSync(lock, uid, gid);
  const again = await start();
  zombie.end();
  await expect(ask(again.url, 'select value from kept')).resolves.toBe(7);
});

it('is reached over a Unix socket that only its user may get at, and needs the password there, too', async () => {
  const { url, socketFolder } = await start();
  if (socketFolder === undefined) throw new Error('there is no socket');
  expect(statSync(socketFolder).mode & 0o777).toBe(0o700);
  const onSocket = socketUrl(url, socketFolder);
  await expect(ask(onSocket, 'select inet_server_addr() is null as value')).resolves.toBe(true);
  await expect(ask(url, 'select inet_server_addr() is null as value')).resolves.toBe(false);
  await expect(ask(onSocket.replace('a%20password', 'another'), 'select 1')).rejects.toThrow(
    'password authentication failed',
  );
});

it('has TCP alone where the path of the socket would be too long', async () => {
  home = makeHome(join(parent, 'long'.repeat(25)));
  const { url, socketFolder } = await start();
  expect(socketFolder).toBeUndefined();
  await expect(ask(url, 'select 1 as value')).resolves.toBe(1);
});

it('has statistics of a new table within seconds', async () => {
  const { url } = await start();
  await ask(url, 'create table filled as select n as value from generate_series(1, 1000) n');
  const counted = `select reltuples::int as value from pg_class where relname = 'filled'`;
  await waitUntil(async () => (await ask(url, counted)) === 1_000, { withinMs: 30_000 });
});

it('comes back on the same address with what was committed when its postmaster is killed', async () => {
  const { url, process } = await start();
  await ask(url, 'create table kept as select 7 as value');
  process.kill('SIGKILL');
  await waitUntil(() => process.restarts() === 1, { withinMs: 30_000, what: 'the restart' });
  await expect(ask(url, 'select value from kept')).resolves.toBe(7);
});

it('starts afresh in a removed home, and names the database that a home closed to other users has left outside [D14.294]', async () => {
  chmodSync(parent, 0o700);
  const { url, process } = await start();
  await ask(url, 'create table kept as select 7 as value');
  const folder = (await ask(url, `select current_setting('data_directory') as value`)) as string;
  // Root gives the data to another user, who cannot pass through a closed folder.
  expect(folder.startsWith(parent)).toBe(globalThis.process.getuid?.() !== 0);
  expect(statSync(folder).mode & 0o077).toBe(0);
  await process.stop(5_000);
  rmSync(home.root, { recursive: true });
  home = makeHome(home.root);
  const again = await start();
  await expect(ask(again.url, `select to_regclass('kept') as value`)).resolves.toBeNull();
  const isOutside = !folder.startsWith(parent);
  expect(existsSync(folder)).toBe(isOutside);
  const left = dirname(dirname(folder));
  expect(told.some((text) => text.endsWith(`rm -r ${left}`))).toBe(isOutside);
  if (isOutside) rmSync(left, { recursive: true });
});

it('keeps its files to itself', async () => {
  await start();
  const open = readdirSync(home.root).filter(
    (name) => name !== 'postgres' && (statSync(join(home.root, name)).mode & 0o077) !== 0,
  );
  expect(open).toEqual([]);
});
