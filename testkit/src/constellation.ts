import { join } from 'node:path';
import { freePort } from '@eligo/ports';
import {
  type ComponentName,
  loadCompositions,
  type Replicas,
  repositoryRoot,
  type StackProcess,
  startStack,
  type Variables,
} from '@eligo/stack';
import { type Api, apiClient } from './api.ts';
import { tellLogsOf } from './log-tails.ts';
import { startOwnProcess } from './own-process.ts';
import { restartPart } from './restart-part.ts';
import type { Running } from './running.ts';
import { type TestDatabase, testDatabaseOn, testPostgresUrl } from './test-database.ts';
import { type TestHome, testHome } from './test-home.ts';
import { prepareTestSecrets } from './test-secrets.ts';
import { waitUntil } from './wait-until.ts';

/**
 * How the parts are laid out: all in the test's own process (every message encoded and decoded on its way), all in one
 * process beside the test's, which can be killed, or each in a process of its own over gRPC.
 */
export type Topology = 'in-process' | 'all-in-one' | 'split';

/** How to start a constellation. */
export interface ConstellationOptions {
  readonly topology: Topology;
  /** Variables for all components. */
  readonly environment?: Variables;
  /** Variables of one component over those; all-in-one has none. */
  readonly environmentOf?: (component: ComponentName) => Variables;
  /** The superuser's URL of another Postgres server than that of the test run. */
  readonly postgres?: string;
  /** How many processes of each component, when each is in a process of its own. */
  readonly replicas?: Replicas;
}

/** What happens at a failpoint, after how many passes. */
export interface Arming {
  readonly action: 'kill' | 'error' | 'pause';
  readonly skip?: number;
}

/** The whole of Eligo, for a test. */
export interface Constellation {
  readonly topology: Topology;
  /** The gateway's address, and those of all its replicas. */
  readonly url: string;
  readonly urls: readonly string[];
  readonly account: string;
  readonly testApiKey: string;
  readonly liveApiKey: string;
  /** The sandbox processor: its address and secret key. */
  readonly processor: { readonly url: string; readonly key: string };
  readonly database: TestDatabase;
  readonly nats: string;
  /** Signs the logins of operators. */
  readonly operatorKey: string;
  readonly home: TestHome;
  /** The public interface with a key, the demo account's test key by default. */
  api(key?: string): Api;
  /** The sandbox processor's own interface: charges, refunds, faults. */
  sandbox(method: string, path: string, body?: object): Promise<Record<string, unknown>>;
  processes(): StackProcess[];
  /** Where a component's health, metrics, calls and failpoints are. */
  adminOf(name: string): string;
  /** Arms a failpoint in a component. In process, `kill` would end the test itself. */
  armFailpoint(component: string, name: string, arming: Arming): Promise<void>;
  /** Disarms it and lets go whoever waits there. */
  releaseFailpoint(component: string, name: string): Promise<void>;
  /** Sends SIGKILL to a part that is a process of its own; alone in its process, the all-in-one is killed as a whole. */
  kill(name: string): void;
  /** Stops a part that is a process of its own as an orchestrator does; its supervisor starts it again. */
  restart(name: string): Promise<void>;
  /** Resolves when everything is up again after a kill, by a failpoint or by `kill`. */
  recovered(): Promise<void>;
  stop(): Promise<void>;
}

/** Starts the whole of Eligo on a database of its own, with a NATS server and a sandbox processor of its own. */
export async function startConstellation(options: ConstellationOptions): Promise<Constellation> {
  const home = testHome(options.topology);
  const { migrations } = await loadCompositions();
  const schemas = Object.entries(migrations).map(([name, sources]) => ({ name, migrations: sources }));
  const database = await testDatabaseOn(options.postgres ?? testPostgresUrl(), schemas);
  try {
    const secrets = prepareTestSecrets(home, database);
    const environment: Variables = {
      ...process.env,
      // Compiled code is kept, or a restart would spend most of its time on compiling.
      NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE ?? join(repositoryRoot, '.eligo', 'cache'),
      ELIGO_ENV: 'test',
      ELIGO_FAILPOINTS: 'on',
      LOG_LEVEL: process.env.LOG_LEVEL ?? 'warn',
      ...options.environment,
      DATABASE_URL: database.adminUrl,
    };
    const port = await freePort();
    const running =
      options.topology === 'all-in-one'
        ? await startOwnProcess({ home, port, environment, secrets })
        : await startHere(home, port, environment, options);
    const own = { home, database, operatorKey: secrets.operatorKey };
    return constellationOf(options.topology, running, own, tellLogsOf(home));
  } catch (error) {
    await database.drop();
    home.remove();
    throw error;
  }
}

async function startHere(
  home: TestHome,
  port: number,
  environment: Variables,
  { topology, replicas = {}, environmentOf }: ConstellationOptions,
): Promise<Running> {
  const stack = await startStack({
    home: home.root,
    port,
    split: topology === 'split',
    replicas,
    encode: true,
    longestRestartDelayMs: 400,
    environment,
    ...(environmentOf && { environmentOf }),
    onTrouble: (text) => process.stderr.write(`constellation: ${text}\n`),
  });
  const pidOf = (name: string) => stack.processes().find((part) => part.name === name)?.pid;
  // Who is to die, by the pid that is to be gone: until then it may still answer as if nothing were to happen.
  const doomed = new Map<string, number | undefined>();
  return {
    ...stack,
    doom: (name) => doomed.set(name, pidOf(name)),
    kill(name) {
      doomed.set(name, pidOf(name));
      stack.kill(name);
    },
    restart: (name) => restartPart(stack, name),
    async recovered() {
      const isUp = async ({ name, pid, admin }: StackProcess) =>
        doomed.get(name) !== pid && (admin === null || (await isReady(name, admin)));
      await waitUntil(async () => (await Promise.all(stack.processes().map(isUp))).every(Boolean), {
        withinMs: 60_000,
        what: 'that everything is up again',
      });
      doomed.clear();
      // Whoever lost a peer tries to reach it again after a pause of its own.
      const api = apiClient(stack.url, stack.demo.testApiKey);
      await waitUntil(() => Promise.all(oneReadOfEach.map((path) => api.ok('GET', path))), {
        what: 'that the gateway reaches everything again',
      });
    },
  };
}

const oneReadOfEach = ['/v1/shipping_rates', '/v1/charges', '/v1/invoices', '/v1/refunds', '/v1/webhooks'];

// The sandbox is ready when it listens; all else that it answers needs its key.
async function isReady(name: string, admin: string): Promise<boolean> {
  return (await fetch(new URL(name === 'sandbox' ? '/healthz' : '/readyz', admin))).ok;
}

function constellationOf(
  topology: Topology,
  running: Running,
  own: { home: TestHome; database: TestDatabase; operatorKey: string },
  forgetLogs: () => void,
): Constellation {
  const adminOf = (name: string) => {
    const admin = running.processes().find((part) => part.name === name)?.admin;
    if (!admin) throw new Error(`${name} has no admin address`);
    return admin;
  };
  const failpoint = async (method: string, component: string, name: string, arming?: Arming) => {
    const url = new URL(`/failpoints/${encodeURIComponent(name)}`, adminOf(component));
    const answer = await fetch(url, { method, ...(arming ? { body: JSON.stringify(arming) } : {}) });
    if (!answer.ok) throw new Error(`${method} ${url.pathname}: ${answer.status} ${await answer.text()}`);
  };
  return {
    ...own,
    ...running.demo,
    topology,
    url: running.url,
    urls: running.urls,
    processor: running.processor,
    nats: running.nats,
    api: (key = running.demo.testApiKey) => apiClient(running.url, key),
    async sandbox(method, path, body) {
      const { url, key } = running.processor;
      return await apiClient(url, key).ok(method, path, body ? { body } : {});
    },
    processes: () => running.processes(),
    adminOf,
    async armFailpoint(component, name, arming) {
      await failpoint('PUT', component, name, arming);
      if (arming.action === 'kill') running.doom(component);
    },
    releaseFailpoint: (component, name) => failpoint('DELETE', component, name),
    kill: (name) => running.kill(name),
    restart: (name) => running.restart(name),
    recovered: () => running.recovered(),
    async stop() {
      forgetLogs();
      await running.stop();
      await own.database.drop();
      own.home.remove();
    },
  };
}
