import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type GrowthFiles, growthFiles, keepRow, readGrowth, writeGrowth } from '../src/growth/kept-growth.ts';
import { measureGrowthRows } from '../src/growth/measure-growth.ts';
import type { GrowthRow } from '../src/growth/row.ts';
import type { GrowthListener, runGrowth } from '../src/growth/run-growth.ts';
import { readOptions } from '../src/options.ts';

let files: GrowthFiles;
beforeEach(() => {
  const folder = mkdtempSync(join(tmpdir(), 'growth-'));
  files = { kept: join(folder, 'kept.json'), notes: join(folder, 'notes.md'), read: join(folder, 'GROWTH.md') };
  for (const stream of [process.stdout, process.stderr]) vi.spyOn(stream, 'write').mockReturnValue(true);
});
afterEach(() => {
  vi.restoreAllMocks();
  rmSync(join(files.kept, '..'), { recursive: true });
});

const row = (name: string, ratio: number, part: GrowthRow['part'] = 'Postgres'): GrowthRow => ({
  ...{ name, part, small: 1, large: ratio, ratio, within: 0.01, goal: 1.15 },
});
const told = () => readGrowth(files).rows.map(({ name, topology, ratio, run }) => [name, topology, ratio, run]);
const earlier = { topology: 'all-in-one', run: 'day one' } as const;

/** `npm run bench -- --only growth --write` whose runs measure this. */
function write(measured: (listener: GrowthListener, topology: string) => void, ...args: string[]): Promise<boolean> {
  const { growth, ...options } = readOptions(['--only', 'growth', '--write', ...args]);
  const measure: typeof runGrowth = async (given, listener) => {
    measured(listener, given.topology);
    return { rows: [], failures: [], notMeasured: {} };
  };
  return measureGrowthRows({ ...options, growth: growth ?? expect.fail('no growth') }, { files, measure });
}

describe('growth that is written', () => {
  it('has the rows of both topologies', async () => {
    await write((listener, topology) => listener.onRow(row('prices.get', topology === 'split' ? 1.05 : 1.1)));
    expect(told().map(([, topology, ratio]) => [topology, ratio])).toEqual([
      ['all-in-one', 1.1],
      ['split', 1.05],
    ]);
    expect(readFileSync(files.read, 'utf8')).toMatch(
      /## all-in-one[^#]*\| prices\.get .*1\.10[^#]*## split[^#]*\| prices\.get .*1\.05/,
    );
  });

  it('keeps the rows that a run does not measure, and each names its run', async () => {
    keepRow(files, row('prices.get', 1), earlier);
    keepRow(files, row('customers.get', 1), earlier);
    await write(({ onRow }) => onRow(row('prices.get', 1.2)), '--topology', 'all-in-one', '--filter', 'prices.get');
    expect(told()).toEqual([
      [
        'prices.get',
        'all-in-one',
        1.2,
        expect.stringMatching(/commit .*, 1,000 and 1,000,000 records, 5 to 45 rounds$/),
      ],
      ['customers.get', 'all-in-one', 1, 'day one'],
    ]);
    const text = readFileSync(files.read, 'utf8');
    expect(text).toMatch(/\n1\. .*5 to 45 rounds\n2\. day one\n/);
    expect(text).toMatch(/\| prices\.get .*\| 1 +\|\n\| customers\.get .*\| 2 +\|/);
  });

  it('keeps what a run measured before it failed', async () => {
    const failing = write(({ onRow }) => {
      onRow(row('prices.get', 1.2));
      throw new Error('out of disk');
    });
    await expect(failing).rejects.toThrow('out of disk');
    expect(told()).toEqual([['prices.get', 'all-in-one', 1.2, expect.any(String)]]);
    expect(readFileSync(files.read, 'utf8')).toContain('| prices.get ');
  });

  it('keeps the notes, which stand in a file of their own', async () => {
    writeFileSync(files.notes, '## Notes\n\nA neighbor was loud.\n');
    for (const ratio of [1, 1.2]) await write(({ onRow }) => onRow(row('prices.get', ratio)));
    expect(readFileSync(files.notes, 'utf8')).toBe('## Notes\n\nA neighbor was loud.\n');
    expect(readFileSync(files.read, 'utf8').match(/A neighbor was loud\./g)).toHaveLength(1);
  });

  it('replaces what was measured by a failure, and a failure by what is measured', async () => {
    keepRow(files, row('prices.get', 1), earlier);
    keepRow(files, row('prices.get', 1, 'Eligo'), earlier);
    await write(({ onFailure }) => onFailure({ name: 'prices.get', why: '500' }), '--topology', 'all-in-one');
    expect(told()).toEqual([]);
    expect(readFileSync(files.read, 'utf8')).toContain('FAILED prices.get: 500 (run 1)');
    keepRow(files, row('prices.get', 1.1), earlier);
    expect(readGrowth(files)).toMatchObject({ rows: [{ ratio: 1.1 }], failures: [] });
  });

  it('remembers that the uncertainty of one round is unknown', () => {
    keepRow(files, { ...row('prices.get', 1), within: Number.NaN }, earlier);
    expect(readGrowth(files).rows[0]?.within).toBeNaN();
    expect(readFileSync(files.read, 'utf8')).toMatch(/prices\.get .*1\.00 \?/);
  });

  it('is refused with --tiny, whose counts are too small to mean anything', () => {
    expect(() => readOptions(['--only', 'growth', '--tiny', '--write'])).toThrow('--write does not go with --tiny');
  });
});

// `-u` writes it after a change of the notes, of an exception or of what has no row.
it('the document in the repository is what the kept rows and notes make', async () => {
  const kept = readGrowth(growthFiles);
  expect(kept.rows.length).toBeGreaterThanOrEqual(420);
  writeGrowth({ ...files, notes: growthFiles.notes }, kept);
  await expect(readFileSync(files.read, 'utf8')).toMatchFileSnapshot(growthFiles.read);
  expect(readFileSync(files.kept, 'utf8')).toBe(readFileSync(growthFiles.kept, 'utf8'));
});
