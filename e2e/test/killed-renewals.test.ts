import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Topology } from '@eligo/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { seedOfRun } from '../src/chaos/random.ts';
import { isLongRun } from '../src/crashes/plan.ts';
import { openRunningShop, type RunningShop, shortBudgets } from '../src/crashes/running-shop.ts';
import { type MonthsPlan, runMonths } from '../src/renewals/run-months.ts';
import { wallClock as openWallClock } from '../src/renewals/wall-clock.ts';

const { ELIGO_TEST_SUBSCRIPTIONS, ELIGO_TEST_MONTHS } = process.env;

// The short form begins the same each time; the long ones differ from run to run and say their seed.
describeMonths(
  'all-in-one',
  {
    ...{ subscriptions: 17, months: 4, onEachClock: 9, clocksAtOnce: 2, kills: 4, mostPasses: 2 },
    ...{ overdue: { subscriptions: 4, periods: 3, waves: 1 }, dunningEnd: 'canceled' },
  },
  { seed: 1, withinMs: 300_000 },
);
if (isLongRun) {
  describeMonths('all-in-one', {
    ...{ subscriptions: Number(ELIGO_TEST_SUBSCRIPTIONS) || 1_000, months: Number(ELIGO_TEST_MONTHS) || 36 },
    ...{ onEachClock: 25, clocksAtOnce: 6, kills: 60, mostPasses: 40 },
    ...{ overdue: { subscriptions: 120, periods: 26, waves: 6 }, dunningEnd: 'canceled' },
  });
  describeMonths('split', {
    ...{ subscriptions: 100, months: 12, onEachClock: 25, clocksAtOnce: 4, kills: 40, mostPasses: 20 },
    ...{ overdue: { subscriptions: 30, periods: 26, waves: 3 }, dunningEnd: 'unpaid' },
  });
  describeMonths(
    'split',
    {
      ...{ subscriptions: 60, months: 12, onEachClock: 15, clocksAtOnce: 4, kills: 30, mostPasses: 0 },
      ...{ atAnyTime: ['billing', 'billing-2'], overdue: { subscriptions: 30, periods: 26, waves: 3 } },
      dunningEnd: 'canceled',
    },
    { billing: 2 },
  );
}

function describeMonths(
  topology: Topology,
  size: Omit<MonthsPlan, 'seed' | 'wallClock'>,
  {
    seed: fixedSeed,
    withinMs = 3 * 3_600_000,
    billing = 1,
  }: { seed?: number; withinMs?: number; billing?: number } = {},
): void {
  const { subscriptions, months, kills } = size;
  const beside = billing > 1 ? `, with ${billing} processes of billing` : '';
  describe(`renewals while processes are killed, ${topology}${beside}`, () => {
    const wallClock = openWallClock();
    const mails = mkdtempSync(join(tmpdir(), 'eligo-mails-'));
    let running: RunningShop;
    beforeAll(async () => {
      // What a dead process held is taken over while the all-in-one still starts.
      const leases = { ...shortBudgets, ELIGO_RENEWAL_LEASE_MS: '3000' };
      const environment = { ...leases, ...wallClock.environment, ELIGO_MAIL_FOLDER: mails };
      running = await openRunningShop(topology, environment, { billing });
    }, 180_000);
    afterAll(async () => {
      await running?.eligo.stop();
      wallClock.remove();
      rmSync(mails, { recursive: true, force: true });
    }, 60_000);

    it(
      `bill each period of ${subscriptions} subscriptions × ${months} months once, to the cent, with ${kills} kills, sales, upgrades, pauses, cancellations, dunning to its end, cards that decline and a processor that fails [D14.90, D14.91, D14.93, D14.117, D14.185]`,
      async () => {
        const seed = seedOfRun(fixedSeed);
        console.log(`renewals: ELIGO_TEST_SEED=${seed}`);
        const report = await runMonths(running, { seed, wallClock, ...size }, (text) => {
          if (isLongRun) console.log(`renewals: ${text}`);
        });
        console.log(`renewals: ${JSON.stringify(report)}`);
        expect(report.allKills).toBe(kills);
        expect(report.allFaults).toBeGreaterThan(0);
        expect(report.jumps).toBeGreaterThan(0);
        expect(report.declined).toBeGreaterThan(0);
        expect(report.overdue).toBeGreaterThan(0);
        expect(report.ended).toBeGreaterThan(0);
        expect(report.soldLate).toBeGreaterThan(0);
      },
      withinMs,
    );
  });
}
