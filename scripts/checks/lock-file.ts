import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../turbo.ts';

/** What package-lock.json says of one package, as far as it matters here. */
export interface LockEntry {
  name?: string;
  version?: string;
  /** Where it lies: the folder of a workspace. Packages of the registry name no place, so that any registry can serve them. */
  resolved?: string;
  link?: boolean;
  inBundle?: boolean;
  integrity?: string;
  license?: string;
  dev?: boolean;
  optional?: boolean;
  os?: string[];
  cpu?: string[];
  libc?: string[];
  dependencies?: Record<string, string>;
  optionalDependencies?: Record<string, string>;
  peerDependencies?: Record<string, string>;
  peerDependenciesMeta?: Record<string, { optional?: boolean }>;
}

/** The lock file. */
export interface LockFile {
  packages: Record<string, LockEntry>;
}

export const lockPath = join(root, 'package-lock.json');

export function readLock(): LockFile {
  return JSON.parse(readFileSync(lockPath, 'utf8')) as LockFile;
}

/** An optional package that another one names and the lock file does not have. */
export interface Gap {
  readonly by: string;
  readonly name: string;
  readonly version: string;
}

/**
 * A registry that holds no packages for other platforms makes `npm install` leave them out of the lock file without a
 * word; `npm ci` then refuses the file wherever it is.
 */
export function gapsOf(lock: LockFile): Gap[] {
  return Object.entries(lock.packages).flatMap(([path, entry]) =>
    Object.entries(entry.optionalDependencies ?? {})
      .filter(([name]) => !lock.packages[`node_modules/${name}`] && !lock.packages[join(path, 'node_modules', name)])
      .map(([name, version]) => ({ by: path, name, version })),
  );
}

/** A package of the registry whose entry has no hash of its archive. */
export interface Unhashed {
  readonly path: string;
  readonly entry: LockEntry;
}

/** The entries without a hash. Workspaces have no archive, and a bundled package is part of the archive of another. */
export function unhashedOf(lock: LockFile): Unhashed[] {
  return Object.entries(lock.packages)
    .filter(([path, entry]) => path.includes('node_modules/') && !entry.link && !entry.inBundle && !entry.integrity)
    .map(([path, entry]) => ({ path, entry }));
}

/** The entries that name a host: they could be installed from that registry alone. */
export function boundToAHost(lock: LockFile): string[] {
  return Object.entries(lock.packages)
    .filter(([, { resolved }]) => resolved !== undefined && /^[a-z+]+:/.test(resolved))
    .map(([path]) => path);
}
