import { describe, expect, it } from 'vitest';
import { growthExceptions } from '../src/growth/exceptions.ts';
import { growthText } from '../src/growth/growth-text.ts';
import { costsInTurns } from '../src/growth/measure.ts';
import { outcomeOf } from '../src/growth/outcome.ts';
import type { GrowthRow } from '../src/growth/row.ts';

const row = (ratio: number, within?: number): GrowthRow => ({
  ...{ name: 'a', part: 'Eligo', small: 1, large: ratio, ratio, goal: 1.15 },
  ...(within === undefined ? {} : { within }),
});

describe('a row', () => {
  it('is over or within its goal only if its uncertainty does not reach across the goal', () => {
    expect(outcomeOf(row(1.3, 0.24))).toBe('undecided');
    expect(outcomeOf(row(1.12, 0.05))).toBe('undecided');
    expect(outcomeOf(row(1.16, 0.04))).toBe('undecided');
    expect(outcomeOf(row(1.3, 0.14))).toBe('over');
    expect(outcomeOf(row(1.1, 0.04))).toBe('within');
    // Of one round the uncertainty is unknown; what is counted has none.
    expect(outcomeOf(row(1, Number.NaN))).toBe('undecided');
    expect([outcomeOf(row(1.15)), outcomeOf(row(1.16))]).toEqual(['within', 'over']);
  });

  const perRound = (ratios: readonly number[]) => {
    let rounds = 0;
    const large = async () => {
      const ratio = ratios[rounds % ratios.length] ?? Number.NaN;
      rounds += 1;
      return { postgresMs: ratio, eligoMs: 1 };
    };
    const small = async () => ({ postgresMs: 1, eligoMs: 1 });
    return { small, large, rounds: () => rounds };
  };

  it.each([
    { ratios: [1.1, 1.2, 1.14, 1.17, 1.155], of: 'close to its goal', expected: 45 },
    { ratios: [0.9, 1.15, 1.4], of: 'far apart', expected: 45 },
    { ratios: [1, 1.01, 1.02], of: 'certainly below', expected: 5 },
    { ratios: [3, 3.1, 3.2], of: 'certainly above', expected: 5 },
  ])('whose rounds are $of is measured in $expected rounds', async ({ ratios, expected }) => {
    const { small, large, rounds } = perRound(ratios);
    await costsInTurns(small, large, { rounds: [5, 45], goal: 1.15 });
    expect(rounds()).toBe(expected);
  });
});

describe('an exception', () => {
  const name = 'one session with many refunds: checkout_sessions.get';
  const measured = (part: 'Postgres' | 'Eligo', large: number, blocks = 7, rows = 1): GrowthRow => ({
    ...{ name, part, small: 0.3, large, ratio: large / 0.3, within: 0.1, goal: 1.15, lists: [2, 200] },
    ...(part === 'Postgres' ? { reads: { blocks: [5, blocks], rows: [1, rows] } } : {}),
  });

  it('allows a row to cost more for each identifier that it lists, and no more than that', () => {
    expect(outcomeOf(measured('Eligo', 0.6))).toBe('excepted');
    expect(outcomeOf(measured('Eligo', 1.2))).toBe('over');
    expect(outcomeOf(measured('Postgres', 0.6))).toBe('excepted');
    expect(outcomeOf(measured('Postgres', 0.6, 205))).toBe('over');
    expect(outcomeOf(measured('Postgres', 0.6, 7, 199))).toBe('over');
    const { reads: _, ...uncounted } = measured('Postgres', 0.6);
    expect(outcomeOf(uncounted)).toBe('over');
    const { lists: __, ...ofNothing } = measured('Eligo', 0.6);
    expect(outcomeOf(ofNothing)).toBe('over');
    expect(outcomeOf({ ...measured('Eligo', 0.6), name: 'another' })).toBe('over');
  });

  it('is told with its reason in the table, and only for a row that is there', () => {
    const table = (...rows: GrowthRow[]) => growthText({ rows, failures: [], notMeasured: {} });
    expect(table(measured('Eligo', 0.6))).toContain('2.00 *');
    expect(table(measured('Eligo', 0.6))).toContain(`exception: ${name}: ${growthExceptions[name]?.reason}`);
    expect(table(row(1))).not.toContain('exception');
  });
});

it('a table marks each row with what it says, and tells what was not measured', () => {
  const rows = [row(1.1), row(1.2), row(1.3, 0.24)];
  const text = growthText({ rows, failures: [{ name: 'b', why: '500' }], notMeasured: { c: 'no card' } });
  expect(text).toMatch(/1\.20 ✗ /);
  expect(text).toMatch(/1\.30 \? /);
  expect(text).toContain('1 are within their goal, 1 over it (✗), 1 undecided (?)');
  expect(text).toContain('FAILED b: 500');
  expect(text).toContain('not measured: c: no card');
});
