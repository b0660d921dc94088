import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { makeHome } from '../src/home.ts';
import { secretsOf } from '../src/secrets.ts';

it('keeps a home’s secrets, and adds the ones that an older release did not have', () => {
  const root = mkdtempSync(join(tmpdir(), 'eligo-secrets-'));
  try {
    const home = makeHome(root);
    const { pageKey, ...older } = secretsOf(home);
    expect(secretsOf(home)).toEqual({ ...older, pageKey });
    writeFileSync(home.secretsFile, JSON.stringify(older), { mode: 0o600 });
    const filled = secretsOf(home);
    expect(filled).toMatchObject(older);
    expect(filled.pageKey).toMatch(/^[\w+/]{43}=$/);
    expect(filled.pageKey).not.toBe(pageKey);
    expect(secretsOf(home)).toEqual(filled);
    expect(statSync(home.secretsFile).mode & 0o777).toBe(0o600);
    expect(JSON.parse(readFileSync(home.secretsFile, 'utf8'))).toEqual(filled);
  } finally {
    rmSync(root, { recursive: true });
  }
});
