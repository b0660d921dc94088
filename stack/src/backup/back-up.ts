import { createHash } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { type Home, readJsonFile, writePrivateFile } from '../home.ts';
import { secretsOf } from '../secrets.ts';
import type { StackFile } from '../stack-file.ts';
import { copyCluster } from './cluster-copy.ts';
import { syncFolder, syncPath, syncTree } from './sync-tree.ts';

/** What a backup says of itself; it is written last, so that a backup without it is not whole. */
export interface BackupNote {
  readonly format: 1;
  readonly created_at: string;
  readonly postgres: string;
  readonly start_lsn: string;
  readonly end_lsn: string;
  /** Of the secrets without which the data cannot be opened: tells them apart, and gives nothing of them away. */
  readonly secrets_fingerprint: string;
}

/** The secrets of a home and its demo account's keys. */
export interface KeptSecrets {
  readonly secrets: object;
  readonly demo: unknown;
}

export const noteName = 'backup.json';

/**
 * Copies the data of a running stack to a new folder, and its secrets to a file of their own, so that the two can be kept apart. Writes go on meanwhile.
 * The sandbox processor stops for the moment in which its records and the end of the database's log are copied: each charge that it has in the
 * copy has an attempt in the database's.
 */
export async function backUp(
  home: Home,
  stack: StackFile,
  targets: { readonly folder: string; readonly secretsFile: string },
): Promise<BackupNote> {
  const { folder, secretsFile } = targets;
  for (const path of [folder, secretsFile])
    if (existsSync(path)) throw new Error(`${path} exists; choose another name`);
  if (!stack.processes.some(({ name }) => name === 'postgres')) {
    throw new Error(
      'This stack uses its own Postgres server; back it up with pg_dump as docs/operations.md says, or by your provider, and keep secrets.json',
    );
  }
  mkdirSync(folder, { mode: 0o700 });
  const copied = await copyCluster(stack.postgres, join(folder, 'postgres'), async (copyLog) => {
    await whileStopped(stack.processes.find(({ name }) => name === 'sandbox')?.pid, async () => {
      await copyLog();
      if (existsSync(home.sandbox)) cpSync(home.sandbox, join(folder, 'sandbox'), { recursive: true });
    });
  });
  const kept: KeptSecrets = { secrets: secretsOf(home), demo: readJsonFile(join(home.root, 'demo.json')) };
  writeFileSync(secretsFile, `${JSON.stringify(kept, undefined, 2)}\n`, { mode: 0o600, flag: 'wx' });
  // The note says that all else is whole, so all else is on the disk first.
  await syncTree(folder);
  await syncPath(secretsFile);
  await syncFolder(dirname(resolve(secretsFile)));
  const note: BackupNote = {
    format: 1,
    created_at: new Date().toISOString(),
    postgres: copied.version,
    start_lsn: copied.startLsn,
    end_lsn: copied.endLsn,
    secrets_fingerprint: fingerprintOf(kept),
  };
  writePrivateFile(join(folder, noteName), `${JSON.stringify(note, undefined, 2)}\n`);
  await syncPath(join(folder, noteName));
  for (const path of [folder, dirname(resolve(folder))]) await syncFolder(path);
  return note;
}

/** Tells secrets apart. */
export function fingerprintOf({ secrets }: KeptSecrets): string {
  return createHash('sha256').update(JSON.stringify(secrets)).digest('hex').slice(0, 16);
}

const stoppedWithinMs = 5_000;
const stopSignals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

async function whileStopped(pid: number | undefined, work: () => Promise<void>): Promise<void> {
  if (pid === undefined) return work();
  const goOn = () => process.kill(pid, 'SIGCONT');
  // A command that is stopped in between leaves nothing stopped behind.
  const onSignal = () => {
    goOn();
    process.exit(130);
  };
  for (const signal of stopSignals) process.once(signal, onSignal);
  process.kill(pid, 'SIGSTOP');
  try {
    const deadline = performance.now() + stoppedWithinMs;
    while (!hasStopped(pid)) {
      if (performance.now() > deadline) throw new Error('The sandbox processor cannot be stopped for the backup');
      await pause(5);
    }
    await work();
  } finally {
    goOn();
    for (const signal of stopSignals) process.off(signal, onSignal);
  }
}

// The state follows the command's name, which stands in parentheses.
function hasStopped(pid: number): boolean {
  const path = `/proc/${pid}/stat`;
  if (!existsSync(path)) return true;
  const text = readFileSync(path, 'utf8');
  return text.slice(text.lastIndexOf(')') + 2).startsWith('T');
}
