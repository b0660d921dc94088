import { expect, it } from 'vitest';
import type { Operation } from '../src/figures.ts';
import { readOptions, runBench } from '../src/index.ts';

/** One operation of each kind: the others run the same code with another size or another statement. */
const kinds: Operation[] = [
  'read-price',
  'list-prices',
  'confirm',
  'renewal-floor',
  'webhook',
  'keep-up',
  'processor-events-p99',
  'start',
  'idle-statements',
  'memory',
];

it('measures an operation of each kind, with counts too small to mean anything', async () => {
  const only = kinds.flatMap((operation) => ['--only', operation]);
  const rows = await runBench(readOptions(['--tiny', '--topology', 'all-in-one', ...only]), () => undefined);
  // Memory is read from where only Linux has it.
  const measurable = kinds.filter((operation) => operation !== 'memory' || process.platform === 'linux');
  expect(rows.map((row) => row.operation)).toEqual(measurable);
  for (const { operation, ratio } of rows) {
    // A second: an idle stack waits for commits, and does not ask for work. In so short a time one job of each service may run.
    if (operation === 'idle-statements') expect(ratio).toBeLessThan(5);
    else expect(ratio, operation).toBeGreaterThan(0);
  }
}, 300_000);
