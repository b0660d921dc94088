import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { syncPath, syncTree } from '../src/backup/sync-tree.ts';

it('makes every file and folder of a backup durable, each folder after what is in it [D14.211]', async () => {
  const root = mkdtempSync(join(tmpdir(), 'eligo-sync-'));
  onTestFinished(() => rmSync(root, { recursive: true }));
  mkdirSync(join(root, 'postgres', 'base', 'empty'), { recursive: true });
  const files = ['postgres/backup_label', 'postgres/base/1259', 'sandbox.log'];
  for (const file of files) writeFileSync(join(root, file), file, { mode: 0o600 });
  const synced: string[] = [];
  await syncTree(root, async (path) => {
    await syncPath(path);
    synced.push(relative(root, path));
  });
  const folders = ['', 'postgres', 'postgres/base', 'postgres/base/empty'];
  expect(synced.toSorted()).toEqual([...folders, ...files].toSorted());
  for (const path of synced) {
    const inside = synced.filter((one) => one !== path && (path === '' || one.startsWith(`${path}/`)));
    for (const one of inside) expect(synced.indexOf(one)).toBeLessThan(synced.indexOf(path));
  }
});
