import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { connect as dial } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { freePort } from '@eligo/ports';
import { largestEventBytes } from '../src/event-size.ts';

/** A nats-server of the test's own, which it may kill, and whose directory it may put back. */
export interface NatsProcess {
  readonly port: number;
  readonly url: string;
  readonly directory: string;
  start(): Promise<void>;
  /** SIGKILL, as a crash is. */
  kill(): Promise<void>;
  /** SIGTERM: writes its state. */
  stop(): Promise<void>;
  /** SIGSTOP: its connections stay open, and nothing answers. */
  freeze(): Promise<void>;
  /** SIGCONT. */
  thaw(): void;
  remove(): Promise<void>;
}

/** `config` makes the server's configuration for its address and directory; without it there is JetStream and no permission needed. */
export async function natsProcess(config?: (listen: string, store: string) => string): Promise<NatsProcess> {
  const root = await mkdtemp(join(tmpdir(), 'eligo-nats-'));
  const directory = join(root, 'store');
  const port = await freePort();
  const listen = `127.0.0.1:${port}`;
  const file = join(root, 'nats.conf');
  const plain = `listen: "${listen}"\nmax_payload: ${largestEventBytes}\njetstream { store_dir: "${directory}" }\n`;
  const text = config?.(listen, directory) ?? plain;
  await writeFile(file, text);
  let child: ChildProcess | undefined;

  async function end(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    child.kill(signal);
    await ended;
  }
  return {
    port,
    url: `nats://${listen}`,
    directory,
    async start() {
      child = spawn(process.env.ELIGO_NATS_SERVER ?? 'nats-server', ['-c', file], {
        stdio: ['ignore', 'ignore', 'pipe'],
      });
      let log = '';
      child.stderr?.on('data', (chunk: Buffer) => {
        log = (log + chunk.toString()).slice(-4_000);
      });
      const failed = once(child, 'error').then(([error]) => Promise.reject(error));
      await Promise.race([answers(port, () => log), failed]);
    },
    kill: () => end('SIGKILL'),
    stop: () => end('SIGTERM'),
    async freeze() {
      child?.kill('SIGSTOP');
      // The signal is sent; its threads run until each has seen it.
      while (!(await threadStates(child?.pid)).every((state) => state === 'T')) await pause(1);
    },
    thaw: () => void child?.kill('SIGCONT'),
    async remove() {
      await end('SIGKILL');
      await rm(root, { recursive: true, force: true });
    },
  };
}

async function threadStates(pid: number | undefined): Promise<(string | undefined)[]> {
  const threads = await readdir(`/proc/${pid}/task`);
  const stats = threads.map((thread) => readFile(`/proc/${pid}/task/${thread}/stat`, 'utf8'));
  return (await Promise.all(stats)).map((stat) => /\) (\S)/.exec(stat)?.[1]);
}

async function answers(port: number, log: () => string): Promise<void> {
  for (let attempt = 0; attempt < 400; attempt++) {
    const ok = await new Promise<boolean>((resolve) => {
      const socket = dial(port, '127.0.0.1');
      socket.once('data', () => {
        socket.destroy();
        resolve(true);
      });
      socket.once('error', () => resolve(false));
    });
    if (ok) return;
    await pause(25);
  }
  throw new Error(`nats-server does not answer: ${log()}`);
}
