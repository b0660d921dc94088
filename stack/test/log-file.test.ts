import {
  appendFileSync,
  closeSync,
  existsSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { waitUntil } from '@eligo/testkit';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { boundLog, openLogFile } from '../src/log-file.ts';

let folder: string;
let path: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'eligo-log-'));
  path = join(folder, 'eligo.log');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

it('a log of this process is moved aside when it is large, and the last of it is kept [D14.222]', () => {
  const log = openLogFile(path, { largestBytes: 1_000 });
  for (let line = 0; line < 100; line += 1) log.write(`${String(line).padStart(99, '.')}\n`);
  log.close();
  expect(readFileSync(path, 'utf8').trimEnd().split('\n')).toHaveLength(10);
  expect(readFileSync(path, 'utf8')).toContain('.99\n');
  expect(readFileSync(`${path}.1`, 'utf8')).toContain('.80\n');
  const reopened = openLogFile(path, { largestBytes: 1_000 });
  reopened.write('after a restart\n');
  reopened.close();
  expect(readFileSync(path, 'utf8')).toBe('after a restart\n');
});

it('a line that comes after the end of a log is written nowhere, not into the next file that is opened [D14.222]', () => {
  const log = openLogFile(path);
  log.close();
  const other = openSync(join(folder, 'other'), 'a');
  log.write('too late\n');
  closeSync(other);
  expect(readFileSync(join(folder, 'other'), 'utf8')).toBe('');
});

it('lines that meet a full disk are dropped, and their number is written once there is room [D14.222]', () => {
  let isFull = true;
  const append = (file: number, text: string) => {
    if (isFull) throw Object.assign(new Error('no space left on device'), { code: 'ENOSPC' });
    return writeSync(file, text);
  };
  const log = openLogFile(path, { append });
  for (let line = 0; line < 3; line += 1) log.write('lost\n');
  expect(readFileSync(path, 'utf8')).toBe('');
  isFull = false;
  log.write('kept\n');
  log.close();
  const [told = '', kept] = readFileSync(path, 'utf8').split('\n');
  expect(JSON.parse(told)).toMatchObject({ level: 'warn', count: 3, msg: 'Log lines could not be written' });
  expect(kept).toBe('kept');
});

it('a log whose next file cannot be opened while it is moved aside is written again once it can be [D14.222]', () => {
  let isRefused = false;
  const open = (at: string) => {
    if (isRefused) throw Object.assign(new Error('too many open files'), { code: 'EMFILE' });
    return openSync(at, 'a', 0o600);
  };
  const log = openLogFile(path, { largestBytes: 100, open });
  log.write(`${'x'.repeat(99)}\n`);
  isRefused = true;
  for (let line = 0; line < 3; line += 1) log.write('lost\n');
  isRefused = false;
  log.write('kept\n');
  log.close();
  const [told = '', kept] = readFileSync(path, 'utf8').split('\n');
  expect(JSON.parse(told)).toMatchObject({ count: 3, msg: 'Log lines could not be written' });
  expect(kept).toBe('kept');
  expect(readFileSync(`${path}.1`, 'utf8')).toContain('xxx');
});

it('a log whose full file cannot be closed goes on in the next one [D14.222]', () => {
  const close = (file: number) => {
    closeSync(file);
    throw Object.assign(new Error('i/o error'), { code: 'EIO' });
  };
  const log = openLogFile(path, { largestBytes: 100, close });
  log.write(`${'x'.repeat(99)}\n`);
  for (const line of ['one', 'two', 'three']) log.write(`${line}\n`);
  expect(() => log.close()).toThrow('i/o error');
  expect(readFileSync(path, 'utf8')).toBe('one\ntwo\nthree\n');
  expect(readFileSync(`${path}.1`, 'utf8')).toHaveLength(100);
});

it('a log that another process appends to is emptied when it is large, while that process goes on [D14.222]', async () => {
  const writer = openSync(path, 'a');
  const end = boundLog(path, { largestBytes: 1_000, everyMs: 20 });
  appendFileSync(writer, 'x'.repeat(1_500));
  await waitUntil(() => existsSync(`${path}.1`) && statSync(path).size === 0, {
    withinMs: 5_000,
    what: 'an empty log',
  });
  appendFileSync(writer, 'goes on');
  end();
  closeSync(writer);
  expect(readFileSync(path, 'utf8')).toBe('goes on');
  expect(readFileSync(`${path}.1`, 'utf8')).toHaveLength(1_500);
});
