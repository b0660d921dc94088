import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fillableDisk } from '../src/chaos/full-disk.ts';
import { seedOfRun } from '../src/chaos/random.ts';
import { runChaos } from '../src/chaos/run-chaos.ts';
import { isLongRun } from '../src/crashes/plan.ts';
import { openRunningShop, type RunningShop } from '../src/crashes/running-shop.ts';

const settings = isLongRun
  ? { sessions: 500, kills: 36, killsBetween: 12 }
  : { sessions: 30, kills: 6, killsBetween: 6 };
const disk = fillableDisk();
afterAll(() => disk.remove());

describe('confirms under fire, split', () => {
  let running: RunningShop;
  // Longer than for one crash at a time: two dozen clients share the machine with what is starting again.
  const budgets = { ELIGO_CHARGE_CALL_MS: '2000', ELIGO_CHARGE_MARGIN_MS: '500', ELIGO_CHARGE_LEASE_MS: '4000' };
  beforeAll(async () => {
    running = await openRunningShop('split', { ...budgets, ...disk.environment });
    await disk.attach(running.eligo);
  }, 180_000);
  afterAll(() => running?.eligo.stop(), 60_000);

  it(`${settings.sessions} sessions, ${settings.kills} kills, full disks and lost streams: none charged twice, none lost, nothing unsettled`, async () => {
    const seed = seedOfRun();
    console.log(`chaos: ELIGO_TEST_SEED=${seed}`);
    const report = await runChaos(running, { seed, disk, ...settings });
    console.log(`chaos: ${JSON.stringify(report)}`);
    expect(report.sessions).toBe(settings.sessions);
    const least = settings.kills / settings.killsBetween;
    expect(report.fullDisks).toBeGreaterThanOrEqual(least);
    expect(report.lostStreams).toBeGreaterThanOrEqual(least);
    // A lease of 4 s, after which an attempt that was not sent is given up in 3 s, and the longest pause between two checks, 10 s.
    expect(report.settledMs - report.recoveredMs).toBeLessThan(15_000);
  }, 900_000);
});

if (isLongRun) describeSettling();

// With the leases of production, and clients that never ask again: whatever is settled, Eligo settles by itself.
function describeSettling(): void {
  describe('what kills leave behind, split', () => {
    let running: RunningShop;
    beforeAll(async () => {
      running = await openRunningShop('split', disk.environment);
      await disk.attach(running.eligo);
    }, 180_000);
    afterAll(() => running?.eligo.stop(), 60_000);

    it('120 sessions whose clients are gone, 25 kills: all is settled within a minute of the last fault', async () => {
      const seed = seedOfRun();
      const report = await runChaos(running, {
        seed,
        sessions: 120,
        kills: 25,
        killsBetween: 25,
        disk,
        manner: 'silent',
      });
      console.log(`chaos: ${JSON.stringify(report)}`);
      expect(report.settledMs).toBeLessThan(60_000);
    }, 900_000);
  });
}
