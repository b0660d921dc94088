import { type Constellation, startConstellation } from '@eligo/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { stopWithBooks } from '../src/books.ts';
import { isLongRun } from '../src/crashes/plan.ts';
import { type AttackKind, attackKinds } from '../src/neighbors/attackers.ts';
import { measureNeighbors } from '../src/neighbors/measure-neighbors.ts';

if (isLongRun) {
  describeNeighbors('all-in-one');
  describeNeighbors('split');
} else {
  describeShortly();
}

/** The attacks on pages and by endpoints, each once and for two seconds: too short for the goal, and long enough to notice that half is lost. */
function describeShortly(): void {
  describe('neighbors, shortly', () => {
    let eligo: Constellation;
    beforeAll(async () => {
      eligo = await startConstellation({ topology: 'all-in-one', environment: { ELIGO_LIVE_PROCESSOR: 'sandbox' } });
    }, 120_000);
    afterAll(() => eligo?.stop(), 60_000);

    it('an account keeps half of its process beside one with 60 pages in use and one with 1,000 endpoints [D14.370] [D14.371]', async () => {
      const found = await measureNeighbors(eligo, {
        ...{ victim: 'same rank', perSecond: 100, kinds: ['pages', 'endpoints'] },
        ...{ rounds: 1, aloneMs: 700, attackedMs: 2_000 },
      });
      expect(found).toHaveLength(3);
      expect(found.filter(({ keptShare, keptOfProcessor = 0 }) => Math.max(keptShare, keptOfProcessor) < 0.5)).toEqual(
        [],
      );
    }, 120_000);
  });
}

/** That no account takes another one's share, whatever it does within its limits. */
function describeNeighbors(topology: 'all-in-one' | 'split'): void {
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
        const found = await measureNeighbors(eligo, { ...attacked, kinds: kindsOfRun() });
        console.table(
          found.map((row) => ({
            ...row,
            keptShare: row.keptShare.toFixed(2),
            keptOfProcessor: row.keptOfProcessor?.toFixed(2),
            keptOfPostgres: row.keptOfPostgres?.toFixed(2),
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
            ({ keptShare, keptOfProcessor = 0, keptOfPostgres = 1, slowdown }) =>
              Math.max(keptShare, keptOfProcessor) < 0.7 || slowdown > 3 || keptOfPostgres < leastOfPostgres,
          ),
        ).toEqual([]);
      },
      900_000,
    );
  });
}

/** Of the processor time of Postgres. No budget counts it: the numbers of requests and of parts at work bound what an attack takes. */
const leastOfPostgres = 0.5;

// `npm run -s e2e:neighbors -- pages` measures one kind.
function kindsOfRun(): readonly AttackKind[] {
  const asked = process.env.ELIGO_ATTACKS;
  return asked ? attackKinds.filter((kind) => kind === asked) : attackKinds;
}

function rounded(times: Readonly<Record<string, number | undefined>>) {
  return Object.fromEntries(Object.entries(times).map(([name, ms]) => [name, ms && Math.round(ms)]));
}
