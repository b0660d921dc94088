import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { commandOf, parentOf, processIdentity } from '@eligo/processes/processes';
import { programFile } from '@eligo/processes/programs';
import { waitUntil } from '@eligo/testkit';
import { expect } from 'vitest';
import { type Home, repositoryRoot } from '../../src/home.ts';
import { readStackFile, type StackFile } from '../../src/stack-file.ts';

/** A run of `npm start`. */
export interface Run {
  /** The stand-in for npm itself. */
  readonly npm: ChildProcess;
  readonly home: Home;
  readonly port: number;
  /** What it said so far. */
  said(): string;
}

/** How to run `npm start`. */
export interface RunOptions {
  readonly args?: string;
  /** Where what it says goes; `said` then has nothing. */
  readonly output?: number;
  /** A Postgres server of the test's own. */
  readonly databaseUrl?: string;
}

/** As npm does it: a process that starts a shell that starts the script of package.json, and that passes no signal on. */
export function npmStart(home: Home, port: number, options: RunOptions = {}): Run {
  const { args = '', output = 'pipe', databaseUrl = '' } = options;
  const { scripts } = JSON.parse(readFileSync(join(repositoryRoot, 'package.json'), 'utf8')) as {
    scripts: { start: string };
  };
  const script = `require('node:child_process').spawn('sh', ['-c', '${scripts.start} ${args}; exit $?'], { stdio: 'inherit' }).on('exit', (code) => process.exit(code))`;
  const npm = spawn(process.execPath, ['-e', script], {
    cwd: repositoryRoot,
    env: {
      ...process.env,
      npm_lifecycle_event: 'start',
      ELIGO_HOME: home.root,
      PORT: String(port),
      DATABASE_URL: databaseUrl,
      NATS_URL: '',
    },
    stdio: ['ignore', output, output],
  });
  let text = '';
  for (const stream of [npm.stdout, npm.stderr]) {
    stream?.setEncoding('utf8').on('data', (more: string) => {
      text += more;
    });
  }
  return { npm, home, port, said: () => text };
}

/** Resolves with what `stack.json` says once the run says that it is ready. */
export async function ready(run: Run): Promise<StackFile> {
  await waitUntil(() => run.said().includes('Eligo is ready at') || run.npm.exitCode !== null, {
    ...{ withinMs: 180_000, what: 'a start' },
  });
  expect(run.said()).toContain(`Eligo is ready at http://127.0.0.1:${run.port}`);
  return stackFileOf(run.home);
}

/** What `stack.json` says; throws where there is none. */
export function stackFileOf(home: Home): StackFile {
  const file = readStackFile(home);
  if (!file) throw new Error('there is no stack.json');
  return file;
}

/** Kills every process of a run at once, npm's included, and waits for their end. */
export function killAll(run: Run): Promise<void> {
  return kill([...fromGatewayToNpm(run), ...stackFileOf(run.home).processes.map(({ pid }) => pid)]);
}

/** Kills the stack in one process and those above it, up to npm, and leaves Postgres and NATS running. */
export function killStack(run: Run): Promise<void> {
  return kill(fromGatewayToNpm(run));
}

async function kill(pids: readonly number[]): Promise<void> {
  // The second signal to a pid could reach another process.
  const killed = [...new Set(pids)];
  for (const pid of killed) process.kill(pid, 'SIGKILL');
  await waitUntil(() => killed.every((pid) => isGone({ pid })), { what: 'the end of what was killed' });
}

/** Ends npm by a signal, which it does not forward, and waits for the end of every process of the stack. */
export async function stop({ npm, home }: Run): Promise<void> {
  const { processes } = stackFileOf(home);
  npm.kill('SIGTERM');
  await waitUntil(() => processes.every(isGone), { withinMs: 60_000, what: 'the end of every process' });
}

/** Whether a process has ended. */
export function isGone({ pid }: { pid: number }): boolean {
  return processIdentity(pid) === undefined;
}

/** The processes from the gateway's own up to npm: in one process that is the stack, then npm's shell, then npm. */
export function fromGatewayToNpm({ npm, home }: Run): number[] {
  const gateway = stackFileOf(home).processes.find(({ name }) => name === 'gateway')?.pid ?? 0;
  const last = npm.pid ?? 0;
  const found = [gateway];
  for (let pid = gateway; pid !== last; found.push(pid)) {
    pid = parentOf(pid) ?? 0;
    if (pid <= 1 || commandOf(pid) === undefined) throw new Error(`${last} is not above ${gateway}`);
  }
  return found;
}

/** Runs the command-line tool on a home and resolves with what it prints; rejects when it fails. */
export async function eligo(home: Home, ...args: string[]): Promise<string> {
  const environment = { ...process.env, ELIGO_HOME: home.root, DATABASE_URL: '' };
  const main = programFile(repositoryRoot, 'cli');
  return (await promisify(execFile)(process.execPath, [main, ...args], { env: environment })).stdout;
}

/** Waits until a command of the command-line tool succeeds, such as a check of what becomes true in a moment. */
export async function eligoSucceeds(home: Home, ...args: string[]): Promise<void> {
  const succeeds = () =>
    eligo(home, ...args).then(
      () => true,
      () => false,
    );
  await waitUntil(succeeds, { withinMs: 60_000, what: args.join(' ') });
}
