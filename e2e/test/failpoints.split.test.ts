import { describe, it } from 'vitest';
import { confirmCrashes, shortSplitFailpoints } from '../src/crashes/confirm-crashes.ts';
import { crossWithRetries, isLongRun } from '../src/crashes/plan.ts';
import { callerDeaths, runCallerDeath } from '../src/crashes/run-caller-death.ts';
import { runConfirmCrash } from '../src/crashes/run-confirm-crash.ts';
import { runStall, stalls } from '../src/crashes/run-stall.ts';
import { sharedRunningShops } from './failpoints.ts';

describe('a confirm converges when one process is killed alone, split', () => {
  const onRunningShop = sharedRunningShops('split', 1);
  const crashes = confirmCrashes.filter(
    ({ failpoint, skip }) => isLongRun || (shortSplitFailpoints.has(failpoint) && !skip),
  );

  for (const { crash, retry } of crossWithRetries(crashes, isLongRun)) {
    it(
      `the callee: ${crash.name} (${crash.failpoint}), ${retry}`,
      () => onRunningShop((running) => runConfirmCrash(running, crash, retry)),
      180_000,
    );
  }

  for (const { crash: failpoint, retry } of crossWithRetries(
    isLongRun ? callerDeaths : callerDeaths.slice(0, 2),
    isLongRun,
  )) {
    it(
      `the caller: while checkout is at ${failpoint}, ${retry}`,
      () => onRunningShop((running) => runCallerDeath(running, failpoint, retry)),
      180_000,
    );
  }

  for (const failpoint of isLongRun ? stalls : stalls.slice(2, 3)) {
    it(
      `nobody, but a confirm stalls at ${failpoint} until its lease is over`,
      () => onRunningShop((running) => runStall(running, failpoint)),
      180_000,
    );
  }
});
