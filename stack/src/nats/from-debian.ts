import { chmodSync, copyFileSync, existsSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { privateAptOptions, runPackageTool } from '../private-apt.ts';

/**
 * Fetches Debian's or Ubuntu's nats-server package and takes the program out of it: nothing is installed, and no root is
 * needed. The package lists of the system are used if they are there and fit the archive; else private ones are fetched.
 * apt checks the signatures in both cases.
 */
export async function fetchFromDebian(path: string): Promise<void> {
  const work = mkdtempSync(join(tmpdir(), 'eligo-apt-'));
  try {
    const own = privateAptOptions(work);
    try {
      await runPackageTool('apt-get', [...own.cacheOnly, 'download', 'nats-server'], work);
    } catch {
      // No lists (a plain user on a fresh machine), or lists that are older than the archive: private ones then.
      await runPackageTool('apt-get', [...own.all, 'update'], work);
      await runPackageTool('apt-get', [...own.all, 'download', 'nats-server'], work);
    }
    const archive = readdirSync(work).find((name) => name.endsWith('.deb'));
    if (!archive) throw new Error('apt-get downloaded no package');
    await runPackageTool('dpkg-deb', ['-x', join(work, archive), join(work, 'content')], work);
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
