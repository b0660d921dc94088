import { randomBytes } from 'node:crypto';
import { delimiter, dirname, join } from 'node:path';
import { findNatsServer, repositoryRoot, startNats, startPostgres } from '@eligo/stack';
import { removeDeadHomes, testHome } from './test-home.ts';
import { openNatsConfiguration } from './test-nats.ts';

// Every project of the run calls the set-up; the servers are started by the first and stopped after the last.
interface Shared {
  users: number;
  servers?: Promise<() => Promise<void>>;
}
const key = Symbol.for('eligo.testServers');
const holder = globalThis as { [key]?: Shared };
holder[key] ??= { users: 0 };
const shared = holder[key];

/** Starts Postgres and NATS for the test run, unless ELIGO_TEST_POSTGRES_URL and ELIGO_TEST_NATS_URL name some. */
export async function setup(): Promise<void> {
  shared.users += 1;
  shared.servers ??= startServers();
  await shared.servers;
}

export async function teardown(): Promise<void> {
  shared.users -= 1;
  if (shared.users > 0) return;
  const stop = await shared.servers;
  delete shared.servers;
  await stop?.();
}

// Tests that start, kill and start servers of their own find the program on the PATH.
async function provideNatsServer(): Promise<void> {
  const program = await findNatsServer(join(repositoryRoot, '.eligo', 'bin'), (text) => console.error(text));
  process.env.PATH = `${dirname(program)}${delimiter}${process.env.PATH ?? ''}`;
}

/**
 * The server does not wait for the disk. Every commit still writes its log to the operating system before it answers, so killing the server loses
 * nothing; only a crash of the machine would, and the data is removed after the run. The memory is for tests that fill tables with 100,000 rows: sorts
 * for an index stay in it, as does most of a table. Workers beside a sort would only take a processor from the other test.
 */
const settings = {
  fsync: 'off',
  full_page_writes: 'off',
  shared_buffers: '512MB',
  maintenance_work_mem: '256MB',
  max_parallel_maintenance_workers: '0',
};

async function startServers(): Promise<() => Promise<void>> {
  await provideNatsServer();
  const needed = { postgres: !process.env.ELIGO_TEST_POSTGRES_URL, nats: !process.env.ELIGO_TEST_NATS_URL };
  if (!needed.postgres && !needed.nats) return async () => undefined;
  await removeDeadHomes();
  const home = testHome('run');
  const tell = (text: string) => console.error(`test servers: ${text}`);
  const [postgres, nats] = await Promise.all([
    needed.postgres
      ? startPostgres(home, { password: randomBytes(16).toString('hex'), onTrouble: tell, settings })
      : undefined,
    needed.nats ? startNats(home, { configuration: openNatsConfiguration, onNews: tell, onTrouble: tell }) : undefined,
  ]);
  if (postgres) process.env.ELIGO_TEST_POSTGRES_URL = postgres.url;
  if (nats) process.env.ELIGO_TEST_NATS_URL = `nats://${nats.host}:${nats.port}`;
  return async () => {
    await Promise.all([postgres?.process.stop(10_000), nats?.process.stop(5_000)]);
    if (postgres) delete process.env.ELIGO_TEST_POSTGRES_URL;
    if (nats) delete process.env.ELIGO_TEST_NATS_URL;
    home.remove();
  };
}
