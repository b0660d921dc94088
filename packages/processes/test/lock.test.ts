import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { tryLock, withLock } from '../src/lock.mjs';

let folder: string;
let path: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'eligo-lock-'));
  path = join(folder, 'lock');
});

afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

it('names the living holder to a second process, and is free once released', () => {
  const first = tryLock(path);
  expect(first.release).toBeTypeOf('function');
  expect(tryLock(path).holder).toBe(process.pid);
  first.release?.();
  const second = tryLock(path);
  expect(second.release).toBeTypeOf('function');
  second.release?.();
});

it('does not count a holder that is dead, nor one whose pid is another process now', () => {
  writeFileSync(path, JSON.stringify({ pid: process.pid, identity: 'another boot:1', nonce: 'x' }));
  const lock = tryLock(path);
  expect(lock.release).toBeTypeOf('function');
  lock.release?.();
});

it('does not count a lock that was cut short by a crash', () => {
  writeFileSync(path, '{"pid":');
  const lock = tryLock(path);
  expect(lock.release).toBeTypeOf('function');
  lock.release?.();
});

it('lets one process in at a time when several ask at once over a dead one’s lock', async () => {
  writeFileSync(path, JSON.stringify({ pid: 4_194_303, identity: 'gone', nonce: 'x' }));
  const log = join(folder, 'log');
  const module = new URL('../src/lock.mjs', import.meta.url).href;
  const code = `
    import { appendFileSync } from 'node:fs';
    import { withLock } from ${JSON.stringify(module)};
    for (let i = 0; i < 20; i += 1) {
      await withLock(${JSON.stringify(path)}, async () => {
        appendFileSync(${JSON.stringify(log)}, 'in ');
        await new Promise((done) => setImmediate(done));
        appendFileSync(${JSON.stringify(log)}, 'out ');
      });
    }`;
  const children = Array.from({ length: 4 }, () =>
    spawn(process.execPath, ['--input-type=module', '-e', code], { stdio: 'inherit' }),
  );
  const codes = await Promise.all(children.map(async (child) => (await once(child, 'exit'))[0]));
  expect(codes).toEqual([0, 0, 0, 0]);
  expect(readFileSync(log, 'utf8')).toBe('in out '.repeat(80));
});

it('says which process it waits for, and releases the lock when the work fails', async () => {
  const first = tryLock(path);
  const waited: number[] = [];
  const second = withLock(path, () => Promise.reject(new Error('no')), { onWait: (holder) => waited.push(holder) });
  first.release?.();
  await expect(second).rejects.toThrow('no');
  expect(waited).toEqual([process.pid]);
  const third = tryLock(path);
  expect(third.release).toBeTypeOf('function');
  third.release?.();
});
