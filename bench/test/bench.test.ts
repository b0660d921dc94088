import { expect, it } from 'vitest';
import { operations, topologiesOf } from '../src/figures.ts';
import { readOptions, runBench } from '../src/index.ts';

it('measures every operation, with counts too small to mean anything', async () => {
  const wanted = operations.filter((operation) => topologiesOf(operation).includes('all-in-one'));
  const rows = await runBench(readOptions(['--tiny', '--topology', 'all-in-one']), () => undefined);
  // Memory is read from where only Linux has it.
  const measurable = wanted.filter((operation) => operation !== 'memory' || process.platform === 'linux');
  expect(rows.map((row) => row.operation)).toEqual(measurable);
  for (const row of rows) expect(row.ratio, row.operation).toBeGreaterThan(0);
}, 300_000);
