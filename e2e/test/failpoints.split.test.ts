import { describe, it } from 'vitest';
import { confirmCrashes, shortSplitFailpoints } from '../src/crashes/confirm-crashes.ts';
import { crossWith, crossWithRetries, isLongRun } from '../src/crashes/plan.ts';
import { callerDeaths, runCallerDeath } from '../src/crashes/run-caller-death.ts';
import { runConfirmCrash } from '../src/crashes/run-confirm-crash.ts';
import { runStall, stalls } from '../src/crashes/run-stall.ts';
import { pageCallerDeaths, runPageCallerDeath, runTypedCrash, shopperRetries } from '../src/crashes/run-typed-crash.ts';
import { shortSplitTypedCrashes, typedCrashes } from '../src/crashes/typed-crashes.ts';
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

  // Once each: what the shopper does changes in turn.
  for (const { crash, retry } of crossWith(isLongRun ? typedCrashes : shortSplitTypedCrashes, shopperRetries, false)) {
    it(
      `the callee of a payment with typed cards: ${crash.payment} (${crash.failpoint}, pass ${crash.skip + 1}), ${retry}`,
      () => onRunningShop((running) => runTypedCrash(running, crash, retry)),
      180_000,
    );
  }

  for (const { crash: failpoint, retry } of crossWith(isLongRun ? pageCallerDeaths : [], shopperRetries, isLongRun)) {
    it(
      `the caller of a payment with typed cards: while checkout is at ${failpoint}, ${retry}`,
      () => onRunningShop((running) => runPageCallerDeath(running, failpoint, retry)),
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
