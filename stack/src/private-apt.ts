import { spawn } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';

/** Slow mirrors are slow; a start that waits longer than this is better told. */
const commandTimeoutMs = 180_000;

export interface PrivateAptOptions {
  /** The archives are kept in a private folder; the package lists are the system's. */
  readonly cacheOnly: readonly string[];
  /** The package lists are private too. */
  readonly all: readonly string[];
}

/** Options of apt-get that keep what it writes below `work`, so that it needs no root; it still checks signatures. */
export function privateAptOptions(work: string): PrivateAptOptions {
  if (!existsSync('/usr/bin/apt-get') || !existsSync('/usr/bin/dpkg-deb')) throw new Error('not Debian or Ubuntu');
  const state = join(work, 'state');
  const cache = join(work, 'cache');
  for (const folder of [join(state, 'lists', 'partial'), join(cache, 'archives', 'partial')]) {
    mkdirSync(folder, { recursive: true });
  }
  const set = (name: string, value: string) => ['-o', `${name}=${value}`];
  const cacheOnly = [
    ...set('Dir::Cache', cache),
    ...set('Debug::NoLocking', '1'),
    ...set('APT::Sandbox::User', userInfo().username),
    ...set('Acquire::Languages', 'none'),
    ...set('Acquire::Retries', '2'),
  ];
  const all = [
    ...cacheOnly,
    ...set('Dir::State', state),
    ...set('Dir::State::Lists', join(state, 'lists')),
    ...set('Dir::State::status', '/var/lib/dpkg/status'),
  ];
  return { cacheOnly, all };
}

/** Runs apt-get or dpkg-deb in `folder`; its last words are in the error if it fails. */
export function runPackageTool(
  command: 'apt-get' | 'dpkg-deb',
  args: readonly string[],
  folder: string,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      cwd: folder,
      env: { ...process.env, LC_ALL: 'C', DEBIAN_FRONTEND: 'noninteractive' },
      stdio: ['ignore', 'ignore', 'pipe'],
      timeout: commandTimeoutMs,
    });
    let words = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      words = `${words}${text}`.slice(-2_000);
    });
    child.once('error', reject);
    child.once('close', (code) => {
      if (code === 0) resolve();
      else reject(new Error(`${command} failed: ${words.trim().split('\n').at(-1) ?? ''}`));
    });
  });
}
