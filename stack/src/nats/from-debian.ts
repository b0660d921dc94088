import { spawn } from 'node:child_process';
import { chmodSync, copyFileSync, existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';

/** Slow mirrors are slow; a start that waits longer than this is better told. */
const commandTimeoutMs = 180_000;

/**
 * Fetches Debian's or Ubuntu's nats-server package and takes the program out of it: nothing is installed, and no root is
 * needed. The package lists of the system are used if they are there and fit the archive; else private ones are fetched.
 * apt checks the signatures in both cases.
 */
export async function fetchFromDebian(path: string): Promise<void> {
  if (!existsSync('/usr/bin/apt-get') || !existsSync('/usr/bin/dpkg-deb')) throw new Error('not Debian or Ubuntu');
  const work = mkdtempSync(join(tmpdir(), 'eligo-apt-'));
  try {
    const own = privateOptions(work);
    try {
      await run('apt-get', [...own.cacheOnly, 'download', 'nats-server'], work);
    } catch {
      // No lists (a plain user on a fresh machine), or lists that are older than the archive: private ones then.
      await run('apt-get', [...own.all, 'update'], work);
      await run('apt-get', [...own.all, 'download', 'nats-server'], work);
    }
    const archive = readdirSync(work).find((name) => name.endsWith('.deb'));
    if (!archive) throw new Error('apt-get downloaded no package');
    await run('dpkg-deb', ['-x', join(work, archive), join(work, 'content')], work);
    const program = ['usr/sbin/nats-server', 'usr/bin/nats-server']
      .map((name) => join(work, 'content', name))
      .find((candidate) => existsSync(candidate));
    if (!program) throw new Error('the package does not contain nats-server');
    putInPlace(program, path);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/** Puts a program at `path` in one step, so that no process ever starts half of one. */
export function putInPlace(program: string, path: string): void {
  const draft = `${path}.${process.pid}`;
  copyFileSync(program, draft);
  chmodSync(draft, 0o755);
  renameSync(draft, path);
}

function privateOptions(work: string): { cacheOnly: string[]; all: string[] } {
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

function run(command: string, args: string[], folder: string): Promise<void> {
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
