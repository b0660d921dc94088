import { expect, it } from 'vitest';
import { bannedIn } from '../checks/banned.ts';

const joined = (...parts: string[]) => parts.join('');

it('finds a transaction beside withTx, but not in the package that makes withTx', () => {
  const line = joined('await trx', '.commit', '();');
  expect(bannedIn('services/catalog/src/store/prices.ts', line)).toHaveLength(1);
  expect(bannedIn('packages/postgres/src/with-tx.ts', line)).toEqual([]);
});

it('finds suppressed errors, empty catch blocks, put-off work and tests that do not run', () => {
  const lines = [
    joined('// @ts', '-ignore'),
    joined('try { go(); } catch ', '{}'),
    joined('// TO', 'DO: later'),
    joined('it.', "skip('x', () => undefined);"),
  ];
  expect(bannedIn('a.ts', lines.join('\n')).map((line) => line.split(':')[1])).toEqual(['1', '2', '3', '4']);
});

it('finds a file of more than 400 lines', () => {
  expect(bannedIn('a.ts', 'x\n'.repeat(400))).toEqual([]);
  expect(bannedIn('a.ts', 'x\n'.repeat(401))).toHaveLength(1);
});
