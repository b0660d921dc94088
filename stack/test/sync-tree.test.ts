import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { syncFolder, syncPath, syncTree } from '../src/backup/sync-tree.ts';

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

it('leaves out a folder that cannot be made durable, and no other failure [D14.211]', async () => {
  const failing = (code: string) => async () => {
    throw Object.assign(new Error(code), { code });
  };
  for (const code of ['EINVAL', 'EBADF', 'EACCES']) await syncFolder('/a', failing(code));
  for (const code of ['EIO', 'ENOSPC']) await expect(syncFolder('/a', failing(code))).rejects.toThrow(code);
});
