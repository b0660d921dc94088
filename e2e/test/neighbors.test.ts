import { type Constellation, startConstellation } from '@eligo/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { stopWithBooks } from '../src/books.ts';
import { measureNeighbors } from '../src/neighbors/measure-neighbors.ts';

/** That no account takes another one's share, whatever it does within its limits. */
export function describeNeighbors(topology: 'all-in-one' | 'split'): void {
  describe(`neighbors, ${topology}`, () => {
    let eligo: Constellation;
    beforeAll(async () => {
      eligo = await startConstellation({ topology, environment: { ELIGO_LIVE_PROCESSOR: 'sandbox' } });
    }, 120_000);
    afterAll(() => stopWithBooks(eligo), 60_000);

    it.each([
      ['in live mode', 'a test key', { victim: 'live', perSecond: 25 }],
      ['of the same rank', 'a live key', { victim: 'same rank', perSecond: 100 }],
    ] as const)(
      'an account %s keeps 0.7 of its confirms, and three times their p99 at most, beside one with the limit of %s',
      async (_rank, _key, attacked) => {
        const found = await measureNeighbors(eligo, attacked);
        console.table(
          found.map((row) => ({
            ...row,
            keptShare: row.keptShare.toFixed(2),
            keptOfProcessor: row.keptOfProcessor?.toFixed(2),
            slowdown: row.slowdown.toFixed(1),
            confirmsPerSecond: row.confirmsPerSecond.toFixed(1),
            ...rounded({ p99Ms: row.p99Ms, aloneMsPerSecond: row.aloneMsPerSecond }),
            ...rounded({ waitsMsPerSecond: row.waitsMsPerSecond, waitsAloneMsPerSecond: row.waitsAloneMsPerSecond }),
            ...rounded({ attackMsPerSecond: row.attackMsPerSecond }),
            ...rounded({ attackPostgresMsPerSecond: row.attackPostgresMsPerSecond }),
          })),
        );
        expect(
          found.filter(
            // Other programs on the machine cost confirms, and no part of the time of the process.
            ({ keptShare, keptOfProcessor = 0, slowdown }) =>
              Math.max(keptShare, keptOfProcessor) < 0.7 || slowdown > 3,
          ),
        ).toEqual([]);
      },
      900_000,
    );
  });
}

function rounded(times: Readonly<Record<string, number | undefined>>) {
  return Object.fromEntries(Object.entries(times).map(([name, ms]) => [name, ms && Math.round(ms)]));
}
