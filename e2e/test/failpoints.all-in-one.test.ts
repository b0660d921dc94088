import { describe, it } from 'vitest';
import { confirmCrashes } from '../src/crashes/confirm-crashes.ts';
import { crossWithRetries, isLongRun } from '../src/crashes/plan.ts';
import { runConfirmCrash } from '../src/crashes/run-confirm-crash.ts';
import { sharedStage } from './failpoints.ts';

describe('a confirm converges when the one process is killed, all-in-one', () => {
  const stage = sharedStage('all-in-one');
  for (const { crash, retry } of crossWithRetries(confirmCrashes, isLongRun)) {
    it(`${crash.name} (${crash.failpoint}), ${retry}`, async () => {
      await runConfirmCrash(await stage(), crash, retry);
    }, 180_000);
  }
});
