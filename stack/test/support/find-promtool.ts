import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { withLock } from '@eligo/processes/lock';
import { repositoryRoot } from '../../src/home.ts';
import { keptFolder } from '../../src/nats/find-server.ts';
import { putInPlace } from '../../src/nats/from-debian.ts';
import { privateAptOptions, runPackageTool } from '../../src/private-apt.ts';

/** Debian's promtool: one on the PATH, or fetched earlier, or taken out of the package now, without being root. Undefined where that fails. */
export async function findPromtool(): Promise<string | undefined> {
  const kept = keptFolder(join(repositoryRoot, '.eligo', 'bin'));
  const path = join(kept, 'promtool');
  const found = () => ['promtool', path].find(runs);
  return (
    found() ??
    (await withLock(join(kept, 'promtool.lock'), async () => {
      if (!runs(path)) await fetchTo(path).catch(tell);
      return found();
    }))
  );
}

function runs(program: string): boolean {
  return spawnSync(program, ['--version']).status === 0;
}

async function fetchTo(path: string): Promise<void> {
  const work = mkdtempSync(join(tmpdir(), 'eligo-apt-'));
  try {
    const { all } = privateAptOptions(work);
    await runPackageTool('apt-get', [...all, 'update'], work);
    await runPackageTool('apt-get', [...all, 'download', 'prometheus'], work);
    const archive = readdirSync(work).find((name) => name.endsWith('.deb')) ?? '';
    await runPackageTool('dpkg-deb', ['-x', join(work, archive), join(work, 'content')], work);
    putInPlace(join(work, 'content', 'usr', 'bin', 'promtool'), path);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

// Without it the rules are checked for their form alone.
function tell(error: unknown): void {
  console.error(`promtool was not fetched: ${error instanceof Error ? error.message : String(error)}`);
}
