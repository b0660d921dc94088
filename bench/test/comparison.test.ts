import { repositoryRoot } from '@eligo/stack';
import { describe, expect, it } from 'vitest';
import { openCheckout } from '../src/compare/checkout.ts';
import { comparisonReport, comparisonText } from '../src/compare/comparison-text.ts';
import { type ComparisonRow, runComparison } from '../src/compare/run-comparison.ts';
import { homesFolder } from '../src/homes.ts';
import { describeRun } from '../src/machine.ts';
import { NotUnderstood } from '../src/not-understood.ts';
import { readOptions } from '../src/options.ts';

describe('the comparison with other code', () => {
  it('reads what it is asked for', () => {
    const { compare } = readOptions(['--compare', 'main', '--only', 'confirm,refund', '--processor', 'sandbox']);
    expect(compare).toEqual({ with: 'main', only: ['confirm', 'refund'], processor: 'sandbox', statements: 0 });
    expect(() => readOptions(['--compare', 'main', '--only', 'memory'])).toThrow('usage');
    expect(() => readOptions(['--compare', 'main', '--processor', 'stripe'])).toThrow('usage');
  });

  it('refuses what is neither a folder with Eligo nor a commit', () => {
    expect(() => openCheckout('no-such-commit', homesFolder())).toThrow(NotUnderstood);
    expect(() => openCheckout('/', homesFolder())).toThrow('/ holds no Eligo');
  });

  it('says of which commit the present code is', () => {
    const [first] = comparisonReport(describeRun(), [], 0).split('\n');
    expect(first).toMatch(/^present: \d{4}-\d\d-\d\d, (commit [0-9a-f]{7,}\+?|outside of a git checkout): /);
  });

  // Processor time is read from where only Linux has it. It is there with `ELIGO_TEST_LONG=on`.
  const itOfLongRun = process.platform === 'linux' && process.env.ELIGO_TEST_LONG === 'on' ? it : undefined;
  itOfLongRun?.(
    'measures both sides, with counts too small to mean anything',
    async () => {
      // One operation: `bench.test.ts` measures the others.
      const only = ['--only', 'create-session'];
      const options = readOptions(['--compare', repositoryRoot, '--tiny', '--topology', 'all-in-one', ...only]);
      const rows: ComparisonRow[] = [];
      await runComparison(options.compare ?? expect.fail('nothing to compare'), options, (row) => rows.push(row));
      expect(rows.map((row) => row.operation)).toEqual(['create-session']);
      for (const { ours, theirs, ratio } of rows) {
        expect(ratio).toBeGreaterThan(0);
        // The same code sends the same statements, but for what background work adds to so few operations.
        expect(ours.statements.list.length).toBeGreaterThan(5);
        expect(ours.transactions / theirs.transactions).toBeGreaterThan(0.2);
        expect(Object.keys(ours.processorMs).toSorted()).toEqual(['app', 'nats', 'postgres', 'processor']);
        expect(ours.walBytes).toBeGreaterThan(1_000);
      }
      expect(comparisonText(rows).split('\n')).toHaveLength(2 + 3 * rows.length);
    },
    300_000,
  );
});
