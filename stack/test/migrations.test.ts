import { lintMigrations, readMigrations } from '@eligo/postgres';
import { describe, expect, it } from 'vitest';
import { componentNames } from '../src/components.ts';
import { loadCompositions } from '../src/compositions.ts';

const { migrations } = await loadCompositions();

describe('the migrations that a release applies', () => {
  it.each(componentNames)('of %s stop neither the running release nor its queries', async (name) => {
    const files = await readMigrations(migrations[name]);
    expect(files.length).toBeGreaterThan(0);
    expect(lintMigrations(files)).toEqual([]);
  });
});
