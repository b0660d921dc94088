import { spawn } from 'node:child_process';
import { closeSync, openSync, readSync, statSync } from 'node:fs';
import { boundLog } from '../log-file.ts';
import { recordProcess, type StopSignals, usualSignals } from './record.ts';

/** What to start and how. */
export interface ChildOptions {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly environment: NodeJS.ProcessEnv;
  readonly logPath: string;
  readonly runFolder: string;
  readonly signals?: StopSignals;
  readonly user?: { readonly uid: number; readonly gid: number };
  readonly folder?: string;
  /** Node children get a channel: its end tells them that this process has died. */
  readonly channel?: boolean;
}

/** A started process. */
export interface Child {
  readonly name: string;
  readonly pid: number;
  /** Resolves with "exit code 1" or a signal's name when the process has ended, for whatever reason. */
  readonly ended: Promise<string>;
  readonly hasEnded: () => boolean;
  /** Sends a message to a Node child over its channel; one that has ended hears nothing. */
  tell(message: string): void;
  /** Messages that a Node child sent over its channel. */
  onMessage(listener: (message: unknown) => void): void;
  /** Asks it to stop, and makes it after `graceMs`. */
  stop(graceMs: number): Promise<void>;
  kill(signal: NodeJS.Signals): void;
}

/**
 * Starts a process in a session of its own: a terminal's Ctrl-C must not reach Postgres before the services that use it
 * have finished.
 */
export async function startChild(options: ChildOptions): Promise<Child> {
  const signals = options.signals ?? usualSignals;
  const log = openSync(options.logPath, 'a', 0o600);
  const child = spawn(options.command, options.args, {
    detached: true,
    stdio: options.channel ? ['ignore', log, log, 'ipc'] : ['ignore', log, log],
    env: options.environment,
    ...(options.folder ? { cwd: options.folder } : {}),
    ...(options.user ?? {}),
  });
  let over = false;
  const ended = new Promise<string>((resolve) => {
    child.once('exit', (code, signal) => {
      over = true;
      resolve(signal ?? `exit code ${code}`);
    });
  });
  try {
    await new Promise<void>((resolve, reject) => {
      child.once('spawn', resolve);
      child.once('error', reject);
    });
  } catch (error) {
    throw new Error(`Failed to start ${options.name}: ${error instanceof Error ? error.message : error}`);
  } finally {
    closeSync(log);
  }
  const kill = (signal: NodeJS.Signals) => {
    if (!over) child.kill(signal);
  };
  const stop = async (graceMs: number) => {
    kill(signals.polite);
    const timers = [setTimeout(() => kill(signals.hard), graceMs), setTimeout(() => kill('SIGKILL'), graceMs + 3_000)];
    await ended;
    for (const timer of timers) clearTimeout(timer);
  };
  const pid = child.pid;
  if (pid === undefined) throw new Error(`${options.name} has no pid`);
  try {
    void ended.then(recordProcess(options.runFolder, options.name, pid, signals));
    void ended.then(boundLog(options.logPath));
  } catch (error) {
    // A full disk takes no record. Without one, the next start would find the child's port taken.
    await stop(0);
    throw error;
  }
  // The channel is for news from the child; it must not keep this process from ending.
  child.channel?.unref();
  return {
    name: options.name,
    pid,
    ended,
    hasEnded: () => over,
    tell: (message) => {
      if (child.connected) child.send(message, () => undefined);
    },
    onMessage: (listener) => {
      child.on('message', listener);
      child.channel?.unref();
    },
    kill,
    stop,
  };
}

/** The last lines of a log, for an error message about the process that wrote it. */
export function lastLogLines(path: string, bytes = 2_000): string {
  const size = statSync(path).size;
  const buffer = Buffer.alloc(Math.min(size, bytes));
  const file = openSync(path, 'r');
  try {
    readSync(file, buffer, 0, buffer.length, size - buffer.length);
  } finally {
    closeSync(file);
  }
  return buffer.toString('utf8').trimEnd();
}
