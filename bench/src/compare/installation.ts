import { mkdirSync, mkdtempSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { freePort } from '@eligo/ports';
import { commandOf } from '@eligo/processes/processes';
import {
  type Child,
  homeAt,
  makeHome,
  readStackFile,
  removeHome,
  type StackFile,
  startChild,
  type Variables,
} from '@eligo/stack';
import pg from 'pg';
import { groupsOf, type ProcessorTime, processorTime } from '../costs/processor-time.ts';
import { stackGroups } from '../costs/stack-groups.ts';
import { preloadCounting } from '../costs/statements.ts';
import type { Topology } from '../figures.ts';
import { whenReady } from '../stack-process.ts';
import { bootstrapOf, type Checkout } from './checkout.ts';

/** Eligo as the code of one checkout brings it up, on a Postgres and a NATS of its own. */
export interface Installation {
  readonly name: string;
  readonly port: number;
  readonly file: StackFile;
  /** Connected as the superuser, by one connection that is not counted. */
  readonly postgres: pg.Pool;
  /** Every living process and the group that it belongs to: Postgres, NATS, the processor, and each process of Eligo's. */
  processes(): ReadonlyMap<number, string>;
  /** What its processes have used: a group each for Postgres, NATS, the processor, and for each process of Eligo's. */
  processorTime(): ProcessorTime;
  /** Stops the clock of all its processes, so that they take nothing from the other side. */
  freeze(): void;
  thaw(): void;
  /** Ends it and removes what it wrote. */
  end(): Promise<void>;
}

/** Starts the checkout as a user starts it, with statements countable. `stub` is a processor of this side's own. */
export async function startInstallation(options: {
  readonly checkout: Checkout;
  readonly within: string;
  readonly topology: Topology;
  readonly stub?: { readonly pid: number; readonly variables: Variables };
  /** Starts it by `npm start`, with npm's own process, and not by the program that npm runs. */
  readonly byNpm?: boolean;
  /** A home that is kept; it has started before if a stack file is there. */
  readonly keptHome?: string;
}): Promise<Installation> {
  const root = options.keptHome ?? mkdtempSync(join(options.within, 'run-'));
  if (options.keptHome !== undefined && readStackFile(homeAt(root)) !== undefined)
    return await open(root, await start(root, options), options);
  try {
    // Makes the database; what is measured has started on data that was there, with the counting loaded.
    const first = await start(root, options);
    await withPool(first.file.postgres, preloadCounting);
    await withPool(first.file.postgres, issueNoReceipts);
    await stop(first.child, options.byNpm);
    return await open(root, await start(root, options), options);
  } catch (error) {
    if (options.keptHome === undefined) removeHome(homeAt(root));
    throw error;
  }
}

// `npm start` makes its demo account with receipts since some release. Both sides of a comparison do the same work; growth turns them on for itself.
async function issueNoReceipts(postgres: pg.Pool): Promise<void> {
  await postgres.query(`update gateway.accounts set features = array_remove(features, 'receipts')`);
}

const stopWithinMs = 60_000;

// npm and its shell end at once when they are told to stop, and leave the stack to stop by itself: the stack is told, and they end with it.
async function stop(child: Child, byNpm = false): Promise<void> {
  const started = byNpm && !child.hasEnded() ? startedBy(child.pid) : [];
  for (const pid of started) sendSignal(pid, 'SIGTERM');
  const deadline = performance.now() + stopWithinMs;
  while (started.length > 0 && !child.hasEnded() && performance.now() < deadline) await pause(50);
  await child.stop(stopWithinMs);
}

/** What a process has started, by way of shells or not. */
function startedBy(pid: number): number[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter(Boolean);
  return children.map(Number).flatMap((one) => (commandOf(one) === 'sh' ? startedBy(one) : [one]));
}

interface Started {
  readonly child: Child;
  readonly port: number;
  readonly file: StackFile;
}

async function start(root: string, options: Parameters<typeof startInstallation>[0]): Promise<Started> {
  const home = makeHome(root);
  const port = await freePort();
  const logPath = join(home.logs, 'stack.log');
  const runFolder = join(root, 'bench');
  mkdirSync(runFolder, { recursive: true, mode: 0o700 });
  const split = options.topology === 'split' ? ['--split'] : [];
  const child = await startChild({
    name: 'bench-compared',
    ...(options.byNpm === true
      ? { command: 'npm', args: ['start', '--', ...split] }
      : { command: process.execPath, args: [bootstrapOf(options.checkout.folder), 'start', ...split] }),
    environment: {
      ...process.env,
      ...options.stub?.variables,
      // The load says where each shopper's request comes from, as a proxy does: a page takes few from one address.
      ELIGO_TRUSTED_PROXIES: '127.0.0.1',
      ELIGO_HOME: root,
      PORT: String(port),
      // Started by npm, it watches its parent, which is this process.
      npm_lifecycle_event: 'start',
    },
    folder: options.checkout.folder,
    logPath,
    runFolder,
  });
  return { child, port, file: await whenReady(child, home, port, logPath) };
}

async function open(
  root: string,
  { child, port, file }: Started,
  { checkout, stub, keptHome, byNpm }: Parameters<typeof startInstallation>[0],
): Promise<Installation> {
  const postgres = new pg.Pool({ connectionString: file.postgres, max: 1, idleTimeoutMillis: 0 });
  // A Postgres that ends meanwhile fails the next query; thrown from here, it would hide the error that ended it.
  postgres.on('error', () => undefined);
  const { rows } = await postgres.query<{ pid: number }>('select pg_backend_pid() as pid');
  const own = new Set(rows.map(({ pid }) => pid));
  const tops = () => stackGroups(child.pid, readStackFile(homeAt(root)) ?? file, stub?.pid);
  const signal = (name: NodeJS.Signals) => {
    for (const pid of groupsOf(tops()).keys()) if (!own.has(pid)) sendSignal(pid, name);
  };
  return {
    name: checkout.name,
    port,
    file,
    postgres,
    processes: () => groupsOf(tops()),
    processorTime: () => processorTime(tops(), own),
    freeze: () => signal('SIGSTOP'),
    thaw: () => signal('SIGCONT'),
    async end() {
      await postgres.end();
      await stop(child, byNpm);
      if (keptHome === undefined) removeHome(homeAt(root));
    },
  };
}

function sendSignal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    // A backend that has ended since it was listed.
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
  }
}

async function withPool(url: string, work: (pool: pg.Pool) => Promise<void>): Promise<void> {
  const pool = new pg.Pool({ connectionString: url, max: 1 });
  try {
    await work(pool);
  } finally {
    await pool.end();
  }
}
