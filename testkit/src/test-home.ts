import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync } from 'node:fs';
import { basename, join } from 'node:path';
import { tryLock } from '@eligo/processes/lock';
import { type Home, homeAt, makeHome, recoverOrphans, removeHome, repositoryRoot } from '@eligo/stack';

/** All homes of test runs: in the clone, so that nothing is left elsewhere when the clone is removed. */
const folder = join(repositoryRoot, '.eligo', 'tests');

/** A home for the servers and stacks of tests; `remove` takes it away with all its data. */
export interface TestHome extends Home {
  remove(): void;
}

/** A new home. It gets its name with its lock in it: a run that starts at this moment would take it for a dead one. */
export function testHome(name: string): TestHome {
  mkdirSync(folder, { recursive: true });
  const draft = makeHome(mkdtempSync(join(folder, `.${name}-`)));
  tryLock(lockOf(draft));
  const home = homeAt(join(folder, basename(draft.root).slice(1)));
  renameSync(draft.root, home.root);
  return { ...home, remove: () => removeHome(home) };
}

/** Stops and removes what test runs have left that were killed. */
export async function removeDeadHomes(): Promise<void> {
  if (!existsSync(folder)) return;
  for (const name of readdirSync(folder)) {
    if (name.startsWith('.')) continue;
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
