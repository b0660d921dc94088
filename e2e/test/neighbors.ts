import { type Constellation, startConstellation } from '@eligo/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { measureNeighbors } from '../src/neighbors/measure-neighbors.ts';

/** That no account takes another one's share, whatever it does within its limits. */
export function describeNeighbors(): void {
  describe('neighbors, all-in-one', () => {
    let eligo: Constellation;
    beforeAll(async () => {
      eligo = await startConstellation({ topology: 'all-in-one' });
    }, 120_000);
    afterAll(() => eligo?.stop(), 60_000);

    it('an account keeps 0.7 of its confirms, and three times their p99 at most, while another one does its worst', async () => {
      const found = await measureNeighbors(eligo);
      console.table(found);
      expect(found.filter(({ keptShare, slowdown }) => keptShare < 0.7 || slowdown > 3)).toEqual([]);
    }, 180_000);
  });
}
