import { spawnSync } from 'node:child_process';
import { copyFileSync, cpSync, existsSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';

const repositoryRoot = join(import.meta.dirname, '..', '..');
/** What a clone does not have, and what the runner finds by its own place. */
const own = new Set(['.git', '.eligo', 'dist', 'proto', 'vitest.config.ts']);

test('the test runner generates the code of the definitions in a clone that has its packages alone', () => {
  const clone = mkdtempSync(join(tmpdir(), 'eligo-clone-'));
  onTestFinished(() => rmSync(clone, { recursive: true }));
  for (const name of readdirSync(repositoryRoot)) {
    if (!own.has(name)) symlinkSync(join(repositoryRoot, name), join(clone, name));
  }
  copyFileSync(join(repositoryRoot, 'vitest.config.ts'), join(clone, 'vitest.config.ts'));
  const isDefinition = (path: string) => !/^\.?gen/.test(basename(path));
  cpSync(join(repositoryRoot, 'proto'), join(clone, 'proto'), { recursive: true, filter: isDefinition });
  const vitest = join(repositoryRoot, 'node_modules', 'vitest', 'vitest.mjs');
  const { status, stderr } = spawnSync(
    process.execPath,
    [vitest, 'list', '--filesOnly', '--project', 'values', '--root', clone],
    { cwd: clone, encoding: 'utf8' },
  );
  expect({ status, stderr }).toMatchObject({ status: 0 });
  expect(existsSync(join(clone, 'proto', 'gen', 'eligo', 'events', 'v1'))).toBe(true);
});
