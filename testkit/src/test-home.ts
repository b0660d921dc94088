import { existsSync, mkdirSync, mkdtempSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { tryLock } from '@eligo/processes/lock';
import { type Home, homeAt, makeHome, recoverOrphans, removeHome, repositoryRoot } from '@eligo/stack';

/** All homes of test runs: in the clone, so that nothing is left elsewhere when the clone is removed. */
const folder = join(repositoryRoot, '.eligo', 'tests');

/** A home for the servers and stacks of tests; `remove` takes it away with all its data. */
export interface TestHome extends Home {
  remove(): void;
}

/** A new home. */
export function testHome(name: string): TestHome {
  mkdirSync(folder, { recursive: true });
  const home = makeHome(mkdtempSync(join(folder, `${name}-`)));
  const lock = tryLock(lockOf(home));
  if (!lock.release) throw new Error(`${home.root} is new, and locked`);
  return { ...home, remove: () => removeHome(home) };
}

/** Stops and removes what test runs have left that were killed. */
export async function removeDeadHomes(): Promise<void> {
  if (!existsSync(folder)) return;
  for (const name of readdirSync(folder)) {
    const home = homeAt(join(folder, name));
    const lock = tryLock(lockOf(home));
    if (!lock.release) continue;
    await recoverOrphans(home.run);
    removeHome(home);
  }
}

function lockOf(home: Home): string {
  return join(home.run, 'test.lock');
}
