import { randomUUID } from 'node:crypto';
import { chmodSync, chownSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { isAlive, processIdentity } from '@eligo/processes/processes';
import { postgresSignals, stopProcess } from '../children/record.ts';
import { type Home, readJsonFile, writePrivateFile } from '../home.ts';
import { mayEnter, type RunUser } from './user.ts';

/** Where Postgres keeps its data, and where copies of its programs may be made. */
export interface Place {
  readonly data: string;
  readonly copies: string;
}

/** For homes that the user who runs Postgres may not enter (root's own home folder is such a place). */
export const outsideFolder = '/var/lib/eligo';

/** A folder whose home has not been seen for so long is abandoned. */
const abandonedAfterMs = 7 * 24 * 3_600_000;

interface Outside {
  readonly home: string;
  readonly id: string;
}

/**
 * The data lies in the home, unless root starts Eligo and the user who runs Postgres may not enter there: then it lies
 * outside, under an id that the home holds, so that a removed home starts afresh all the same.
 */
export async function choosePlace(home: Home, user: RunUser | undefined): Promise<Place> {
  const inside = join(home.root, 'postgres');
  if (user === undefined) {
    mkdirSync(inside, { recursive: true, mode: 0o700 });
    return { data: inside, copies: home.bin };
  }
  if (mayEnter(user, home.root)) {
    // Nothing but Postgres's own folder is opened to its user.
    chmodSync(home.root, statSync(home.root).mode | 0o011);
    return { data: ownFolder(inside, user), copies: openFolder(outsideFolder) };
  }
  openFolder(outsideFolder);
  await collectAbandoned(home.root);
  const id = outsideId(home);
  const folder = join(outsideFolder, id);
  mkdirSync(folder, { recursive: true, mode: 0o711 });
  writePrivateFile(join(folder, 'owner.json'), JSON.stringify({ home: home.root, id } satisfies Outside));
  return { data: ownFolder(join(folder, 'postgres'), user), copies: openFolder(outsideFolder) };
}

function outsideId(home: Home): string {
  const path = join(home.root, 'outside.json');
  const known = readJsonFile(path) as Outside | undefined;
  if (known) return known.id;
  const id = randomUUID();
  writePrivateFile(path, JSON.stringify({ home: home.root, id } satisfies Outside));
  return id;
}

// Removes the folders outside whose homes were removed: at once when it was this very home, which then starts afresh;
// else only after a week, since a home may lie on a disk that is not mounted just now.
async function collectAbandoned(ownHome: string): Promise<void> {
  for (const name of readdirSync(outsideFolder)) {
    const folder = join(outsideFolder, name);
    const owner = readJsonFile(join(folder, 'owner.json')) as Outside | undefined;
    if (!owner) continue;
    const claim = readJsonFile(join(owner.home, 'outside.json')) as Outside | undefined;
    if (claim?.id === owner.id) continue;
    const lastStartAgoMs = Date.now() - statSync(join(folder, 'owner.json')).mtimeMs;
    if (owner.home !== ownHome && lastStartAgoMs < abandonedAfterMs) continue;
    await stopServerOf(clusterIn(join(folder, 'postgres')));
    rmSync(folder, { recursive: true, force: true });
  }
}

// Postgres itself writes down who serves a data folder; that its command names the folder proves the pid is still its.
async function stopServerOf(data: string): Promise<void> {
  const pid = serverPid(data);
  const identity = pid === undefined ? undefined : processIdentity(pid);
  if (pid === undefined || identity === undefined || !isAlive(pid, identity)) return;
  await stopProcess(pid, identity, postgresSignals, 10_000);
}

/** The pid of the Postgres that serves a data folder, if one does. */
export function serverPid(data: string): number | undefined {
  const [first] = lockLines(data);
  if (first === undefined) return undefined;
  const pid = Number(first);
  const command = `/proc/${pid}/cmdline`;
  if (!existsSync(command)) return existsSync('/proc/self') ? undefined : pid;
  return readFileSync(command, 'utf8').split('\0').includes(data) ? pid : undefined;
}

/** The lines of a data folder's lock file, none without one. A server that starts replaces the file of a killed one, so it may be gone at any moment. */
export function lockLines(data: string): string[] {
  try {
    return readFileSync(join(data, 'postmaster.pid'), 'utf8').split('\n');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return [];
    throw error;
  }
}

/** The cluster itself lies one step below the folder that its user owns, so that it can be made and removed as a whole. */
export function clusterIn(dataFolder: string): string {
  return join(dataFolder, 'cluster');
}

function ownFolder(path: string, user: RunUser): string {
  mkdirSync(path, { recursive: true, mode: 0o700 });
  chownSync(path, user.uid, user.gid);
  return path;
}

function openFolder(path: string): string {
  mkdirSync(dirname(path), { recursive: true });
  mkdirSync(path, { recursive: true, mode: 0o755 });
  return path;
}
