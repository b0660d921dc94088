import { expect, it } from 'vitest';
import { operations, topologiesOf } from '../src/figures.ts';
import { readOptions, runBench } from '../src/index.ts';

it('measures every operation, with counts too small to mean anything', async () => {
  const wanted = operations.filter((operation) => topologiesOf(operation).includes('all-in-one'));
  const rows = await runBench(readOptions(['--tiny', '--topology', 'all-in-one']), () => undefined);
  // Memory is read from where only Linux has it.
  const measurable = wanted.filter((operation) => operation !== 'memory' || process.platform === 'linux');
  expect(rows.map((row) => row.operation)).toEqual(measurable);
  for (const { operation, ratio } of rows) {
    // An idle stack may send nothing in a second.
    if (operation === 'idle-statements') expect(ratio).toBeLessThan(100);
    else expect(ratio, operation).toBeGreaterThan(0);
  }
}, 300_000);
