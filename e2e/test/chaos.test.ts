import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { seedOfRun } from '../src/chaos/random.ts';
import { runChaos } from '../src/chaos/run-chaos.ts';
import { isLongRun } from '../src/crashes/plan.ts';
import { openStage, type Stage } from '../src/crashes/stage.ts';

const settings = isLongRun ? { sessions: 500, kills: 36 } : { sessions: 60, kills: 6 };

describe('confirms under fire, split', () => {
  let stage: Stage;
  // Longer than for one crash at a time: two dozen clients share the machine with what is starting again.
  const budgets = { ELIGO_CHARGE_CALL_MS: '2000', ELIGO_CHARGE_MARGIN_MS: '500', ELIGO_CHARGE_LEASE_MS: '4000' };
  beforeAll(async () => {
    stage = await openStage('split', budgets);
  }, 180_000);
  afterAll(() => stage?.eligo.stop(), 60_000);

  it(`${settings.sessions} sessions, ${settings.kills} kills: none charged twice, none lost, nothing unsettled`, async () => {
    const seed = seedOfRun();
    console.log(`chaos: ELIGO_TEST_SEED=${seed}`);
    const report = await runChaos(stage, { seed, ...settings });
    console.log(`chaos: ${JSON.stringify(report)}`);
    expect(report.sessions).toBe(settings.sessions);
  }, 900_000);
});
