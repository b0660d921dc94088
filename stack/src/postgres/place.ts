import { randomUUID } from 'node:crypto';
import { chmodSync, chownSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { type Home, writePrivateFile } from '../home.ts';
import { mayEnter, type RunUser } from './user.ts';

/** Where Postgres keeps its data, and where copies of its programs may be made. */
export interface Place {
  readonly data: string;
  readonly copies: string;
  /** What to tell the operator of databases outside that their homes do not name. Eligo never removes one. */
  readonly unclaimed: readonly string[];
}

/** For homes that the user who runs Postgres may not enter (root's own home folder is such a place). */
export const outsideFolder = '/var/lib/eligo';

/** Which database is whose: a home has it in `outside.json`, the database's folder outside in `owner.json`. */
interface Outside {
  readonly home: string;
  readonly id: string;
}

/** What a test replaces. */
export interface Surroundings {
  readonly outside: string;
  readonly mayEnter: (user: RunUser, path: string) => boolean;
}

/**
 * The data lies in the home, unless root starts Eligo and the user who runs Postgres may not enter there: then it lies
 * outside, under an id that the home holds. It stays where it is when the home moves; a home that cannot be served
 * from there is refused rather than given an empty database.
 */
export function choosePlace(
  home: Home,
  user: RunUser | undefined,
  surroundings: Surroundings = { outside: outsideFolder, mayEnter },
): Place {
  const { outside } = surroundings;
  const inside = join(home.root, 'postgres');
  const id = idHeldBy(home.root);
  const isInside = existsSync(join(clusterIn(inside), 'made'));
  if (id !== undefined && !isInside) return keepOutside(home, adopted(home, id, outside), user);
  if (user === undefined) {
    mkdirSync(inside, { recursive: true, mode: 0o700 });
    return { data: inside, copies: home.bin, unclaimed: [] };
  }
  if (surroundings.mayEnter(user, home.root)) {
    // Nothing but Postgres's own folder is opened to its user.
    chmodSync(home.root, statSync(home.root).mode | 0o011);
    return { data: ownFolder(inside, user), copies: openFolder(outside), unclaimed: [] };
  }
  if (id !== undefined) return keepOutside(home, adopted(home, id, outside), user);
  if (isInside) {
    throw new Error(
      `The database of ${home.root} is in ${inside}, where the user ${user.name} may not enter. ` +
        'Let others pass through each folder above it (chmod o+x), or move the home back.',
    );
  }
  return keepOutside(home, newOutside(home, openFolder(outside)), user);
}

// A folder without an owner and a home without an id are what a crash in between leaves: neither stops the next start.
function newOutside(home: Home, outside: string): string {
  const id = randomUUID();
  const folder = join(outside, id);
  mkdirSync(folder, { mode: 0o711 });
  writePrivateFile(join(home.root, 'outside.json'), JSON.stringify({ home: home.root, id } satisfies Outside));
  return folder;
}

function adopted(home: Home, id: string, outside: string): string {
  const folder = join(outside, id);
  if (!existsSync(folder)) {
    throw new Error(
      `The database of ${home.root} is in ${folder}, which is not there: a copy of the home does not contain it. ` +
        'Bring the folder back, or restore a backup into an empty home. ' +
        `To begin with an empty database, remove ${join(home.root, 'outside.json')}.`,
    );
  }
  const owner = readOutside(join(folder, 'owner.json'));
  if (owner !== undefined && idHeldBy(owner.home) === id && !isOneFolder(owner.home, home.root)) {
    throw new Error(
      `${owner.home} and ${home.root} both name the database in ${folder}: one is a copy of the other. ` +
        'Remove outside.json from the one that is to begin with an empty database.',
    );
  }
  return folder;
}

function keepOutside(home: Home, folder: string, user: RunUser | undefined): Place {
  if (user === undefined) {
    throw new Error(`The database of ${home.root} is in ${folder}, which only root can serve; start Eligo as root.`);
  }
  const owner: Outside = { home: home.root, id: basename(folder) };
  writePrivateFile(join(folder, 'owner.json'), JSON.stringify(owner));
  const outside = dirname(folder);
  return { data: ownFolder(join(folder, 'postgres'), user), copies: outside, unclaimed: unclaimedIn(outside) };
}

// Nothing tells a home that was removed from one that was moved, or whose disk is not mounted now. So the operator decides.
function unclaimedIn(outside: string): string[] {
  const texts: string[] = [];
  for (const name of readdirSync(outside)) {
    const folder = join(outside, name);
    const owner = readOutside(join(folder, 'owner.json'));
    if (owner === undefined || idHeldBy(owner.home) === owner.id) continue;
    const pid = serverPid(clusterIn(join(folder, 'postgres')));
    texts.push(
      `${folder} has the database of a home that was last at ${owner.home}, and is not there now. Eligo keeps it. ` +
        'If the home was moved, or its disk is not mounted, do nothing. To delete the database for good: ' +
        `${pid === undefined ? '' : `stop its server, process ${pid}, and `}rm -r ${folder}`,
    );
  }
  return texts;
}

function idHeldBy(homeRoot: string): string | undefined {
  return readOutside(join(homeRoot, 'outside.json'))?.id;
}

// Other homes come and go meanwhile.
function readOutside(path: string): Outside | undefined {
  return JSON.parse(textAt(path) ?? 'null') ?? undefined;
}

// The old path of a home that was moved may be a link to the new one.
function isOneFolder(a: string, b: string): boolean {
  const [one, other] = [statSync(a), statSync(b)];
  return one.dev === other.dev && one.ino === other.ino;
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
  return textAt(join(data, 'postmaster.pid'))?.split('\n') ?? [];
}

function textAt(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && ['ENOENT', 'ENOTDIR'].includes(String(error.code)))
      return undefined;
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
