import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';

/** A program of the bench in a process of its own, so that neither side shares its event loop with the other or with the load. */
export interface Worker<Methods extends WorkerMethods> {
  readonly pid: number;
  ask<Name extends keyof Methods & string>(
    name: Name,
    input: Parameters<Methods[Name]>[0],
  ): Promise<Awaited<ReturnType<Methods[Name]>>>;
  stop(): Promise<void>;
}

/** What a worker can be asked: one input, one answer, both cloneable. */
export type WorkerMethods = Record<string, (input: never) => unknown>;

interface Asked {
  readonly id: number;
  readonly name: string;
  readonly input: unknown;
}

type Answered =
  | { readonly id: number; readonly result: unknown }
  | { readonly id: number; readonly error: string }
  | { readonly ready: true };

/** Starts the program of this name beside this file, and notes it among what was started. */
export async function startProgram<Methods extends WorkerMethods>(
  started: Worker<WorkerMethods>[],
  name: string,
): Promise<Worker<Methods>> {
  const worker = await startWorker<Methods>(join(import.meta.dirname, `${name}.ts`));
  started.push(worker as unknown as Worker<WorkerMethods>);
  return worker;
}

/** Stops all that was started. */
export async function stopAll(workers: readonly Worker<WorkerMethods>[]): Promise<void> {
  await Promise.all(workers.map((worker) => worker.stop()));
}

// Resolves when the program at `path`, which calls `serve`, listens.
async function startWorker<Methods extends WorkerMethods>(path: string): Promise<Worker<Methods>> {
  const child = fork(path, { serialization: 'advanced', stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
  const asked = new Map<number, { resolve: (value: unknown) => void; reject: (error: Error) => void }>();
  const ready = Promise.withResolvers<void>();
  child.on('message', (message: Answered) => {
    if ('ready' in message) {
      ready.resolve();
      return;
    }
    const waiting = asked.get(message.id);
    asked.delete(message.id);
    if ('error' in message) waiting?.reject(new Error(message.error));
    else waiting?.resolve(message.result);
  });
  child.once('exit', (code, signal) => {
    const error = new Error(`${path} ended (${signal ?? code})`);
    ready.reject(error);
    for (const { reject } of asked.values()) reject(error);
  });
  await ready.promise;
  let last = 0;
  return {
    pid: child.pid ?? 0,
    ask: (name, input) =>
      new Promise((resolve, reject) => {
        last += 1;
        asked.set(last, { resolve: resolve as (value: unknown) => void, reject });
        child.send({ id: last, name, input } satisfies Asked);
      }),
    stop: () => stop(child),
  };
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.disconnect();
  await ended;
}

/** The other end: answers what the bench asks until it goes away. */
export function serve(methods: WorkerMethods): void {
  const send = process.send?.bind(process);
  if (send === undefined) throw new Error('this program is started by the bench');
  process.on('message', async ({ id, name, input }: Asked) => {
    try {
      send({ id, result: await methods[name]?.(input as never) });
    } catch (error) {
      send({ id, error: error instanceof Error ? (error.stack ?? error.message) : String(error) });
    }
  });
  process.once('disconnect', () => process.exit(0));
  send({ ready: true });
}
