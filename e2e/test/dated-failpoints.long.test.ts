import { afterAll, beforeAll, describe, it } from 'vitest';
import { datedHoldCrashes } from '../src/crashes/hold-crashes.ts';
import { runDatedHoldCrash } from '../src/crashes/run-hold-crash.ts';
import { openRunningShop, type RunningShop, shortBudgets } from '../src/crashes/running-shop.ts';
import { wallClock as openWallClock } from '../src/renewals/wall-clock.ts';

// Each waits for the job that looks at holds once a minute. In `npm test` the job's own tests in checkout stand for them.
describe('a hold that is followed for days, when the process is killed', () => {
  const wallClock = openWallClock();
  let running: RunningShop;
  beforeAll(async () => {
    running = await openRunningShop('all-in-one', { ...shortBudgets, ...wallClock.environment });
  }, 180_000);
  afterAll(async () => {
    await running?.eligo.stop();
    wallClock.remove();
  }, 60_000);

  for (const { end, failpoint } of datedHoldCrashes) {
    it(
      `is ${end === 'ends' ? 'ended' : end} once (${failpoint}) [D14.363]`,
      () => runDatedHoldCrash(running, { end, failpoint }, wallClock),
      360_000,
    );
  }
});
