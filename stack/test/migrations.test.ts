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

// The same. In a new installation the tables that these change or copy are empty.
const unbounded = new Set([
  'billing/0060_renewals.sql',
  'checkout/0680_announced_lapses.sql',
  'events/0004_outbox_queue.sql',
  'gateway/0315_statements_to_tell.sql',
  'gateway/0377_shop_names_to_tell.sql',
  'gateway/0380_features_to_tell.sql',
  'refunds/0060_ledger_totals.sql',
]);

describe('the migrations that a release applies', () => {
  it.each(componentNames)('of %s stop neither the running release nor its queries', async (name) => {
    const files = await readMigrations(migrations[name]);
    expect(files.length).toBeGreaterThan(0);
    const exempt = new Map([
      ['not-repeatable', new Set(unconditional.map((file) => `checkout/${file}.sql`))],
      ['unbounded-dml', unbounded],
    ]);
    const findings = lintMigrations(files);
    expect(findings.filter(({ rule, migration }) => !exempt.get(rule)?.has(migration))).toEqual([]);
  });
});
