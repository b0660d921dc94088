import { lintMigrations, readMigrations } from '@eligo/postgres';
import { describe, expect, it } from 'vitest';
import { componentNames } from '../src/components.ts';
import { loadCompositions } from '../src/compositions.ts';

const { migrations } = await loadCompositions();

// Released before the rule was, and applied files never change; `migrate` skips what an earlier try of them did.
const unconditional = ['0031_operation_index', '0051_attempts_by_status', '0101_operations_of_a_hold'].concat([
  '0122_valid_letters',
  '0124_review_queue',
]);

describe('the migrations that a release applies', () => {
  it.each(componentNames)('of %s stop neither the running release nor its queries', async (name) => {
    const files = await readMigrations(migrations[name]);
    expect(files.length).toBeGreaterThan(0);
    const exempt = new Set(unconditional.map((file) => `checkout/${file}.sql`));
    const findings = lintMigrations(files);
    expect(findings.filter(({ rule, migration }) => rule !== 'not-repeatable' || !exempt.has(migration))).toEqual([]);
  });
});
