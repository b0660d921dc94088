import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { isInstalled } from '../bootstrap/install.mjs';

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'eligo-install-'));
});

afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

interface Entry {
  version?: string;
  link?: boolean;
  resolved?: string;
  optional?: boolean;
  os?: string[];
  cpu?: string[];
}

function given(wanted: Record<string, Entry>, present?: Record<string, Entry>): void {
  writeFileSync(join(folder, 'package-lock.json'), JSON.stringify({ packages: { '': {}, ...wanted } }));
  if (!present) return;
  mkdirSync(join(folder, 'node_modules'));
  writeFileSync(join(folder, 'node_modules', '.package-lock.json'), JSON.stringify({ packages: present }));
}

it('is not installed without node_modules', () => {
  given({ 'node_modules/koa': { version: '3.3.0' } });
  expect(isInstalled(folder)).toBe(false);
});

it('is installed when every package is there in its version, workspaces as links', () => {
  const packages = { 'node_modules/koa': { version: '3.3.0' }, 'node_modules/@eligo/rpc': { link: true } };
  given(packages, packages);
  expect(isInstalled(folder)).toBe(true);
});

it('is not installed when the lock file has moved on, or names one more', () => {
  given({ 'node_modules/koa': { version: '3.4.0' } }, { 'node_modules/koa': { version: '3.3.0' } });
  expect(isInstalled(folder)).toBe(false);
});

it('is not installed when a workspace has moved to another folder', () => {
  const link = { link: true, resolved: 'packages/stack' };
  given({ 'node_modules/@eligo/stack': { ...link, resolved: 'stack' } }, { 'node_modules/@eligo/stack': link });
  expect(isInstalled(folder)).toBe(false);
});

it('does not miss an optional package of another platform, but one of this platform', () => {
  const optional = { version: '1.0.0', optional: true };
  given({ 'node_modules/other': { ...optional, os: ['plan9'], cpu: ['mips'] } }, {});
  expect(isInstalled(folder)).toBe(true);
  rmSync(join(folder, 'node_modules'), { recursive: true });
  given({ 'node_modules/own': { ...optional, os: [process.platform], cpu: [process.arch] } }, {});
  expect(isInstalled(folder)).toBe(false);
});
