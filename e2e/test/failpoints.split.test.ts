import { describe, it } from 'vitest';
import { confirmCrashes } from '../src/crashes/confirm-crashes.ts';
import { crossWithRetries, isLongRun } from '../src/crashes/plan.ts';
import { callerDeaths, runCallerDeath } from '../src/crashes/run-caller-death.ts';
import { runConfirmCrash } from '../src/crashes/run-confirm-crash.ts';
import { runStall, stalls } from '../src/crashes/run-stall.ts';
import { sharedStages } from './failpoints.ts';

// What differs from the all-in-one is who sees the crash; a few places of each kind show it in the short run.
const shortRun = new Set([
  'confirm.claimed',
  'charge.fence_passed',
  'charge.processor_answered',
  'sweep.attempt_claimed',
]);

describe('a confirm converges when one process is killed alone, split', () => {
  const onStage = sharedStages('split', 1);
  const crashes = confirmCrashes.filter(({ failpoint, skip }) => isLongRun || (shortRun.has(failpoint) && !skip));

  for (const { crash, retry } of crossWithRetries(crashes, isLongRun)) {
    it(
      `the callee: ${crash.name} (${crash.failpoint}), ${retry}`,
      () => onStage((stage) => runConfirmCrash(stage, crash, retry)),
      180_000,
    );
  }

  for (const { crash: failpoint, retry } of crossWithRetries(callerDeaths, isLongRun)) {
    it(
      `the caller: while checkout is at ${failpoint}, ${retry}`,
      () => onStage((stage) => runCallerDeath(stage, failpoint, retry)),
      180_000,
    );
  }

  for (const failpoint of isLongRun ? stalls : stalls.slice(2, 3)) {
    it(
      `nobody, but a confirm stalls at ${failpoint} until its lease is over`,
      () => onStage((stage) => runStall(stage, failpoint)),
      180_000,
    );
  }
});
