import { existsSync, readFileSync } from 'node:fs';
import { figures } from '../figures.ts';
import type { Compared } from '../rounds.ts';
import type { StackProcess } from '../stack-process.ts';

/** From the start of the process to ready, on kept data. */
export function startTime({ readyMs, topology }: StackProcess): Compared {
  const seconds = readyMs / 1_000;
  return { ratio: seconds, ours: seconds, theirs: figures.start.goals[topology] };
}

/** What all that runs, but for Postgres, holds in memory; a page that processes share counts once, in equal parts. Linux only. */
export function residentMemory({ pid, file, topology }: StackProcess): Compared | undefined {
  const pids = new Set([pid, ...file.processes.filter(({ name }) => name !== 'postgres').map((part) => part.pid)]);
  const kilobytes = [...pids].map(residentKilobytes);
  if (kilobytes.includes(undefined)) return undefined;
  const megabytes = kilobytes.reduce<number>((sum, one) => sum + (one ?? 0), 0) / 1_024;
  return { ratio: megabytes, ours: megabytes, theirs: figures.memory.goals[topology] };
}

function residentKilobytes(pid: number): number | undefined {
  const path = `/proc/${pid}/smaps_rollup`;
  if (!existsSync(path)) return undefined;
  return Number(/^Pss:\s+(\d+) kB$/m.exec(readFileSync(path, 'utf8'))?.[1]);
}
