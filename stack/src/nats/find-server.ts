import { spawnSync } from 'node:child_process';
import { accessSync, constants, existsSync, mkdirSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, join } from 'node:path';
import { withLock } from '@eligo/processes/lock';
import { fetchFromDebian } from './from-debian.ts';
import { fetchRelease } from './from-release.ts';

/** The oldest server that Eligo is tested with; it is what Debian 12 has. */
const oldestVersion = [2, 9];

/**
 * The path of a nats-server of version 2.9 or newer: on the PATH, or fetched earlier, or fetched now (from Debian's or
 * Ubuntu's own archive without being root, elsewhere from the vendor's releases).
 */
export async function findNatsServer(binFolder: string, onNews: (text: string) => void): Promise<string> {
  const onPath = (process.env.PATH ?? '').split(delimiter).map((folder) => join(folder, 'nats-server'));
  const kept = keptFolder(binFolder);
  const found = [...onPath, join(binFolder, 'nats-server'), join(kept, 'nats-server')].find(isNewEnough);
  if (found) return found;
  return await withLock(join(kept, 'nats-server.lock'), async () => {
    const path = join(kept, 'nats-server');
    if (isNewEnough(path)) return path;
    onNews('fetching nats-server');
    await fetchServer(path);
    if (!isNewEnough(path))
      throw new Error(`The downloaded nats-server (${path}) does not run on this machine; ${advice}`);
    return path;
  });
}

const advice = 'install nats-server 2.9 or newer on the PATH, or set NATS_URL.';

async function fetchServer(path: string): Promise<void> {
  const troubles: string[] = [];
  for (const fetchFrom of [fetchFromDebian, fetchRelease]) {
    try {
      await fetchFrom(path);
      return;
    } catch (error) {
      troubles.push(error instanceof Error ? error.message : String(error));
    }
  }
  throw new Error(`Failed to download nats-server (${troubles.join('; ')}); ${advice}`);
}

/** Where programs are kept: one copy per user serves every home, and a user without a folder for such things has `binFolder`. */
export function keptFolder(binFolder: string): string {
  const cache = process.env.XDG_CACHE_HOME || join(homedir(), '.cache');
  const folder = join(cache, 'eligo');
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    accessSync(folder, constants.W_OK | constants.X_OK);
    return folder;
  } catch {
    return binFolder;
  }
}

function isNewEnough(path: string): boolean {
  if (!existsSync(path)) return false;
  const answer = spawnSync(path, ['--version'], { encoding: 'utf8', timeout: 10_000 });
  const match = /v?(\d+)\.(\d+)\.\d+/.exec(answer.stdout ?? '');
  if (answer.status !== 0 || !match) return false;
  const [major, minor] = [Number(match[1]), Number(match[2])];
  const [oldestMajor = 0, oldestMinor = 0] = oldestVersion;
  return major > oldestMajor || (major === oldestMajor && minor >= oldestMinor);
}
