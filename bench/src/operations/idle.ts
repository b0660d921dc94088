import { existsSync, readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { presentCheckout } from '../compare/checkout.ts';
import { startInstallation } from '../compare/installation.ts';
import { countStatements } from '../costs/statements.ts';
import { figures, type Topology } from '../figures.ts';
import { homesFolder } from '../homes.ts';
import type { Compared } from '../rounds.ts';

/** What a stack costs that nobody uses, started as a user starts it: by `npm start`, on a Postgres, a NATS and a sandbox of its own. */
export interface Idle {
  /** Megabytes of all its processes but Postgres, npm's included; undefined where Linux does not tell. */
  readonly memory: Compared | undefined;
  /** Statements that it sends to Postgres in a second. */
  readonly statements: Compared;
}

/** What starting leaves behind is collected, and jobs have run for the first time. */
const settleMs = 5_000;

/** Brings a stack up on data that is there, leaves it alone for so long, and takes it down. */
export async function measureIdle(topology: Topology, watchedMs: number): Promise<Idle> {
  const installation = await startInstallation({
    checkout: presentCheckout,
    within: homesFolder(),
    topology,
    byNpm: true,
  });
  try {
    await pause(Math.min(settleMs, watchedMs));
    const counted = await countStatements(installation.postgres, () => pause(watchedMs));
    const sent = counted.filter(({ isSent }) => isSent).reduce((sum, { calls }) => sum + calls, 0);
    const perSecond = (sent * 1_000) / watchedMs;
    const pids = [...installation.processes()].filter(([, group]) => group !== 'postgres').map(([pid]) => pid);
    const megabytes = memoryOf(pids);
    return {
      memory: megabytes === undefined ? undefined : against('memory', topology, megabytes),
      statements: against('idle-statements', topology, perSecond),
    };
  } finally {
    await installation.end();
  }
}

function against(operation: 'memory' | 'idle-statements', topology: Topology, measured: number): Compared {
  return { ratio: measured, ours: measured, theirs: figures[operation].goals[topology] };
}

/**
 * What these processes have in memory, in megabytes; undefined where the system does not tell. Each process's own pages, and of each mapped file the most that one of
 * them has of it: the kernel's own proportional figure would share Node's file with the bench's processes as well.
 */
export function memoryOf(pids: readonly number[]): number | undefined {
  let ownKilobytes = 0;
  const kilobytesOfFile = new Map<string, number>();
  for (const pid of pids) {
    const path = `/proc/${pid}/smaps`;
    if (!existsSync(path)) return undefined;
    const { anonymous, files } = mappingsOf(readFileSync(path, 'utf8'));
    ownKilobytes += anonymous;
    for (const [file, kilobytes] of files) {
      kilobytesOfFile.set(file, Math.max(kilobytes, kilobytesOfFile.get(file) ?? 0));
    }
  }
  return (ownKilobytes + [...kilobytesOfFile.values()].reduce((sum, one) => sum + one, 0)) / 1_024;
}

/** What a process has in memory by its `smaps`, in kilobytes: pages of its own, and those of each mapped file. */
export function mappingsOf(smaps: string): { anonymous: number; files: Map<string, number> } {
  const files = new Map<string, number>();
  let [anonymous, file] = [0, ''];
  for (const line of smaps.split('\n')) {
    const mapping = /^[0-9a-f]+-[0-9a-f]+ \S+ \S+ \S+ \d+ *(.*)$/.exec(line);
    if (mapping !== null) {
      file = mapping[1] ?? '';
      continue;
    }
    const [, name, kilobytes] = /^(Rss|Anonymous): +(\d+) kB$/.exec(line) ?? [];
    if (name === 'Anonymous') anonymous += Number(kilobytes);
    // A page of a file that the process has changed is its own: it is in both figures.
    const change = name === 'Rss' ? Number(kilobytes) : name === 'Anonymous' ? -Number(kilobytes) : 0;
    if (change !== 0) files.set(file, (files.get(file) ?? 0) + change);
  }
  return { anonymous, files };
}
