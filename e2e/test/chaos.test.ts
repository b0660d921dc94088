import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { seedOfRun } from '../src/chaos/random.ts';
import { runChaos } from '../src/chaos/run-chaos.ts';
import { isLongRun } from '../src/crashes/plan.ts';
import { openStage, type Stage } from '../src/crashes/stage.ts';

const settings = isLongRun ? { sessions: 500, kills: 40 } : { sessions: 60, kills: 6 };

describe('confirms under fire, split', () => {
  let stage: Stage;
  beforeAll(async () => {
    stage = await openStage('split');
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
