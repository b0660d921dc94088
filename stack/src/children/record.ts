import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { isAlive, processIdentity } from '@eligo/processes/processes';
import { writePrivateFile } from '../home.ts';

/** How a kind of process is told to stop at once but in order, and how to end it when it does not. */
export interface StopSignals {
  readonly polite: NodeJS.Signals;
  readonly hard: NodeJS.Signals;
}

/** Postgres takes SIGINT for "disconnect everybody and check-point", SIGQUIT for "stop now, recover later". */
export const postgresSignals: StopSignals = { polite: 'SIGINT', hard: 'SIGQUIT' };
export const usualSignals: StopSignals = { polite: 'SIGTERM', hard: 'SIGKILL' };

interface ProcessRecord extends StopSignals {
  readonly name: string;
  readonly pid: number;
  readonly identity: string;
}

/** Writes down a started process, so that the next start can stop it if this one dies without doing so. */
export function recordProcess(runFolder: string, name: string, pid: number, signals: StopSignals): () => void {
  const path = join(runFolder, `${name}.json`);
  const identity = processIdentity(pid);
  if (identity === undefined) return () => undefined;
  const record: ProcessRecord = { name, pid, identity, ...signals };
  const text = JSON.stringify(record);
  writePrivateFile(path, text);
  return () => {
    if (existsSync(path) && readFileSync(path, 'utf8') === text) rmSync(path, { force: true });
  };
}

/**
 * Stops what an earlier run left running, the last started first, and returns the names. A pid that belongs to another
 * process by now (its start time differs) is left alone.
 */
export async function recoverOrphans(runFolder: string): Promise<string[]> {
  if (!existsSync(runFolder)) return [];
  const files = readdirSync(runFolder).filter((name) => name.endsWith('.json'));
  const records = files.flatMap((file) => parseRecord(join(runFolder, file)));
  const alive = records.filter((record) => isAlive(record.pid, record.identity));
  // What uses Postgres and NATS goes before them.
  const servers = new Set(['postgres', 'nats']);
  const users = alive.filter((record) => !servers.has(record.name));
  await Promise.all(users.map((record) => stopRecorded(record)));
  await Promise.all(alive.filter((record) => servers.has(record.name)).map((record) => stopRecorded(record)));
  for (const file of files) rmSync(join(runFolder, file), { force: true });
  return alive.map((record) => record.name);
}

async function stopRecorded(record: ProcessRecord): Promise<void> {
  await stopProcess(record.pid, record.identity, record, 10_000);
}

/** Asks a process that is not our child to stop, then makes it; resolves when it is gone. */
export async function stopProcess(pid: number, identity: string, signals: StopSignals, graceMs: number): Promise<void> {
  for (const signal of [signals.polite, signals.hard, 'SIGKILL'] as const) {
    if (!isAlive(pid, identity)) return;
    process.kill(pid, signal);
    const deadline = Date.now() + graceMs;
    while (isAlive(pid, identity) && Date.now() < deadline) await pause(20);
  }
  if (isAlive(pid, identity)) throw new Error(`Process ${pid}, left by an earlier run, does not exit`);
}

function parseRecord(path: string): ProcessRecord[] {
  try {
    const record = JSON.parse(readFileSync(path, 'utf8')) as ProcessRecord;
    return Number.isInteger(record.pid) && typeof record.identity === 'string' ? [record] : [];
  } catch (error) {
    // A record cut short by a crash names no process that could be checked.
    if (error instanceof SyntaxError) return [];
    throw error;
  }
}
