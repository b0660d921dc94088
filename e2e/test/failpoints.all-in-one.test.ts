import { describe, it } from 'vitest';
import { confirmCrashes } from '../src/crashes/confirm-crashes.ts';
import { pageCrashes, shortPageCrashes } from '../src/crashes/page-crashes.ts';
import { crossWithRetries, isLongRun } from '../src/crashes/plan.ts';
import { refundCrashes, shortRefundCrashes } from '../src/crashes/refund-crashes.ts';
import { runConfirmCrash } from '../src/crashes/run-confirm-crash.ts';
import { lateCrashes, runLateCrash } from '../src/crashes/run-late-crash.ts';
import { lostAnswers, runAnotherKeyWhileUnknown, runLostAnswer } from '../src/crashes/run-lost-answer.ts';
import { runPageCrash, runSetUpCrash } from '../src/crashes/run-page-crash.ts';
import { runRefundCrash } from '../src/crashes/run-refund-crash.ts';
import { sharedStage } from './failpoints.ts';

describe('all-in-one, when the process is killed or answers are lost', () => {
  const stage = sharedStage('all-in-one');

  for (const { crash, retry } of crossWithRetries(confirmCrashes, isLongRun)) {
    it(`a confirm converges: ${crash.name} (${crash.failpoint}), ${retry}`, async () => {
      await runConfirmCrash(await stage(), crash, retry);
    }, 180_000);
  }

  for (const { crash, retry } of crossWithRetries(lateCrashes, isLongRun)) {
    it(`a charge that came too late is canceled: ${crash.name} (${crash.failpoint}), ${retry}`, async () => {
      await runLateCrash(await stage(), crash.failpoint, retry);
    }, 180_000);
  }

  for (const fault of isLongRun ? lostAnswers : lostAnswers.slice(0, 1)) {
    it(`a confirm converges when nobody dies: ${fault.kind}`, async () => {
      await runLostAnswer(await stage(), fault);
    }, 180_000);
  }

  it('another key waits while nobody knows what became of the first', async () => {
    await runAnotherKeyWhileUnknown(await stage());
  }, 180_000);

  for (const { crash, retry } of crossWithRetries(isLongRun ? pageCrashes : shortPageCrashes, isLongRun)) {
    it(`a payment on the page converges: ${crash.name} (${crash.failpoint}), ${retry}`, async () => {
      await runPageCrash(await stage(), crash, retry);
    }, 180_000);
  }

  it('a set-up is finished by asking again (set_up.reserved)', async () => {
    await runSetUpCrash(await stage());
  }, 180_000);

  for (const { crash, retry } of crossWithRetries(isLongRun ? refundCrashes : shortRefundCrashes, isLongRun)) {
    it(`a refund converges: ${crash.name} (${crash.failpoint}), ${retry}`, async () => {
      await runRefundCrash(await stage(), crash, retry);
    }, 180_000);
  }
});
