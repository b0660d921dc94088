import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { breakingChanges, lint } from '../checks/buf.ts';
import { root } from '../turbo.ts';

let copy: string;

beforeEach(() => {
  copy = mkdtempSync(join(tmpdir(), 'eligo-proto-'));
  cpSync(join(root, 'proto', 'eligo'), join(copy, 'eligo'), { recursive: true });
  cpSync(join(root, 'proto', 'buf.yaml'), join(copy, 'buf.yaml'));
});

afterEach(() => {
  rmSync(copy, { recursive: true, force: true });
});

function change(file: string, from: string | RegExp, to: string): void {
  const path = join(copy, 'eligo', file);
  const before = readFileSync(path, 'utf8');
  const after = before.replace(from, to);
  expect(after).not.toBe(before);
  writeFileSync(path, after);
}

it('finds nothing in the definitions as they stand', () => {
  expect(lint(copy)).toEqual([]);
  expect(breakingChanges(copy)).toEqual([]);
});

it('finds a field whose type changed since the last release', () => {
  change('paging/v1/paging.proto', /\bint32 offset = /, 'string offset = ');
  expect(breakingChanges(copy).join('\n')).toContain('offset');
});

it('finds a method that is gone since the last release', () => {
  change('catalog/v1/catalog.proto', /rpc GetPrice\(/, 'rpc FetchPrice(');
  expect(breakingChanges(copy).join('\n')).toContain('GetPrice');
});

it('lets a field be added', () => {
  change('paging/v1/paging.proto', /\bint32 offset = (\d+);/, 'int32 offset = $1;\n  string added_later = 900;');
  expect(breakingChanges(copy)).toEqual([]);
});
