import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { freePort } from '@eligo/ports';
import { programFile, programs } from '@eligo/processes/programs';
import {
  type Child,
  databaseUrls,
  type Home,
  lastLogLines,
  makeHome,
  nodeChildArguments,
  readStackFile,
  repositoryRoot,
  type StackFile,
  secretsOf,
  startChild,
  type Variables,
} from '@eligo/stack';
import { type Api, apiClient } from '@eligo/testkit';
import type { Topology } from './figures.ts';

/** A stack in processes of its own, started as `npm start` starts it. */
export interface StackProcess {
  readonly topology: Topology;
  readonly port: number;
  readonly file: StackFile;
  readonly home: Home;
  /** From the start of its process to ready. */
  readonly readyMs: number;
  /** The process that was started. */
  readonly pid: number;
  /** The URL of each component's own role, by role. */
  readonly roleUrls: Readonly<Record<string, string>>;
  api(key?: string): Api;
  /** All its processes but the servers that it stands on. */
  ownPids(): number[];
  stop(): Promise<void>;
}

export interface StackProcessOptions {
  readonly home: string;
  readonly topology: Topology;
  readonly variables?: Variables;
  /** A module to load before the stack's own code. */
  readonly preload?: string;
}

const servers = new Set(['postgres', 'nats', 'sandbox']);

const readyWithinMs = 120_000;

/** Starts a stack on the home's data. */
export async function startStackProcess(options: StackProcessOptions): Promise<StackProcess> {
  const home = makeHome(options.home);
  const port = await freePort();
  const logPath = join(home.logs, 'stack.log');
  const runFolder = join(home.root, 'bench');
  mkdirSync(runFolder, { recursive: true, mode: 0o700 });
  // A preload changes modules, which the built program holds copies of.
  const isBuilt = options.preload === undefined;
  const main = nodeChildArguments(
    isBuilt ? programFile(repositoryRoot, 'stack') : join(repositoryRoot, programs.stack),
  );
  const preload = options.preload === undefined ? [] : ['--import', pathToFileURL(options.preload).href];
  const startedAt = performance.now();
  const child = await startChild({
    name: 'bench-stack',
    command: process.execPath,
    args: [...preload, ...main, ...(options.topology === 'split' ? ['--split'] : [])],
    environment: {
      ...process.env,
      LOG_LEVEL: 'warn',
      ...options.variables,
      ELIGO_HOME: home.root,
      PORT: String(port),
      npm_lifecycle_event: undefined,
    },
    logPath,
    // Not the stack's own folder: whatever is recorded there it takes for the left-overs of an earlier run, and stops.
    runFolder,
    channel: true,
  });
  const file = await whenReady(child, home, port, logPath);
  const { databasePasswords } = secretsOf(home);
  const { components } = databaseUrls(file.postgres, databasePasswords);
  return {
    topology: options.topology,
    port,
    file,
    home,
    readyMs: performance.now() - startedAt,
    pid: child.pid,
    roleUrls: Object.fromEntries(Object.entries(components).map(([name, url]) => [`eligo_${name}`, url])),
    api: (key = file.test_api_key) => apiClient(file.gateway, key),
    ownPids: () => [
      ...new Set([child.pid, ...file.processes.filter(({ name }) => !servers.has(name)).map(({ pid }) => pid)]),
    ],
    stop: () => child.stop(60_000),
  };
}

/** What a started stack says of itself, once it is ready: the file is written last, with this start's own port. */
export async function whenReady(child: Child, home: Home, port: number, logPath: string): Promise<StackFile> {
  const deadline = performance.now() + readyWithinMs;
  while (!child.hasEnded() && performance.now() < deadline) {
    const file = readStackFile(home);
    if (file?.gateway.endsWith(`:${port}`)) return file;
    await pause(10);
  }
  await child.stop(1_000);
  throw new Error(`the stack did not become ready. Its log ends:\n${lastLogLines(logPath, 500)}`);
}
