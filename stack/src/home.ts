import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The repository's root folder. */
export const repositoryRoot = resolve(dirname(fileURLToPath(import.meta.url)), '../..');

/** The folders of one stack's state; removing `root` starts afresh. */
export interface Home {
  readonly root: string;
  readonly logs: string;
  /** Records of running processes, and the lock. */
  readonly run: string;
  readonly bin: string;
  readonly nats: string;
  readonly sandbox: string;
  /** Mails that no server is configured for. */
  readonly mail: string;
  readonly secretsFile: string;
  readonly stackFile: string;
}

/** ELIGO_HOME, or `.eligo/` in the repository. */
export function defaultHomePath(): string {
  return resolve(process.env.ELIGO_HOME || join(repositoryRoot, '.eligo'));
}

/** The paths below `root`; nothing is made. */
export function homeAt(root: string): Home {
  const at = (name: string) => join(root, name);
  return {
    root,
    logs: at('logs'),
    run: at('run'),
    bin: at('bin'),
    nats: at('nats'),
    sandbox: at('sandbox'),
    mail: at('mail'),
    secretsFile: at('secrets.json'),
    stackFile: at('stack.json'),
  };
}

/**
 * Makes the home and its folders. A home made by root may be passed through by others (each file in it is closed), so
 * that Postgres, which refuses to run as root, can keep its data inside.
 */
export function makeHome(root: string): Home {
  const home = homeAt(root);
  mkdirSync(root, { recursive: true, mode: process.getuid?.() === 0 ? 0o711 : 0o700 });
  for (const folder of [home.logs, home.run, home.bin, home.nats, home.sandbox]) {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
  }
  return home;
}

/** Writes a file that only its owner may read, in one step: a reader sees the old text or the new one. */
export function writePrivateFile(path: string, text: string): void {
  const draft = `${path}.${process.pid}`;
  writeFileSync(draft, text, { mode: 0o600 });
  chmodSync(draft, 0o600);
  renameSync(draft, path);
}

/** The parsed JSON of a file, or undefined when there is no such file. */
export function readJsonFile(path: string): unknown {
  return existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : undefined;
}

/** The path of a log below the home. */
export function logFile(home: Home, name: string): string {
  return join(home.logs, `${name}.log`);
}
