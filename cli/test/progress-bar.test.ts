import { expect, it } from 'vitest';
import { progressBar } from '../src/progress-bar.ts';

function drawn(isTTY: boolean, shares: readonly number[]) {
  const said: string[] = [];
  const written: string[] = [];
  const terminal = { isTTY, write: (text: string) => written.push(text) > 0 } as never;
  const bar = progressBar((text) => said.push(text), terminal);
  for (const share of shares) bar(share, `${share * 10} rows`);
  return { said, written };
}

it('is one line on a terminal, redrawn, and ended when all is done', () => {
  const { said, written } = drawn(true, [0, 0.5, 0.95, 1]);
  expect(said).toEqual([]);
  expect(written).toHaveLength(4);
  expect(written.every((text) => text.startsWith('\r'))).toBe(true);
  expect(written.filter((text) => text.includes('\n'))).toEqual([written[3]]);
  expect(written[1]).toContain(`[${'#'.repeat(15)}${'.'.repeat(15)}]  50 %  5 rows`);
});

it('is a line at each tenth elsewhere, however often it is updated', () => {
  const { said, written } = drawn(
    false,
    Array.from({ length: 1_001 }, (_, index) => index / 1_000),
  );
  expect(written).toEqual([]);
  expect(said).toHaveLength(11);
  expect(said[0]).toContain(`[${'.'.repeat(30)}]   0 %`);
  expect(said[10]).toContain(`[${'#'.repeat(30)}] 100 %`);
});
