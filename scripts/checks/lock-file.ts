import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../turbo.ts';

/** What package-lock.json says of one package, as far as it matters here. */
export interface LockEntry {
  version?: string;
  dev?: boolean;
  optional?: boolean;
  os?: string[];
  cpu?: string[];
  libc?: string[];
  optionalDependencies?: Record<string, string>;
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
