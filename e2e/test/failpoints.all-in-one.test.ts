import { describe, it, vi } from 'vitest';
import { captureCrashes, captureKinds, shortCaptureCrashes } from '../src/crashes/capture-crashes.ts';
import { confirmCrashes, shortConfirmCrashes } from '../src/crashes/confirm-crashes.ts';
import { goneHoldCrashes } from '../src/crashes/hold-crashes.ts';
import { pageCrashes, shortPageCrashes } from '../src/crashes/page-crashes.ts';
import {
  type SteppedPayment,
  shortSteppedCrashes,
  steppedCrashes,
  steppedPasses,
} from '../src/crashes/page-step-crashes.ts';
import { crossWith, crossWithRetries, isLongRun } from '../src/crashes/plan.ts';
import { refundCrashes, shortRefundCrashes } from '../src/crashes/refund-crashes.ts';
import { cancellationCrashes, runCancellationCrash } from '../src/crashes/run-cancellation-crash.ts';
import { passesCapture, runCaptureCrash } from '../src/crashes/run-capture-crash.ts';
import { runConfirmCrash } from '../src/crashes/run-confirm-crash.ts';
import { runGoneHoldCrash } from '../src/crashes/run-hold-crash.ts';
import { lateCrashes, runLateCrash } from '../src/crashes/run-late-crash.ts';
import { lostAnswers, runAnotherKeyWhileUnknown, runLostAnswer } from '../src/crashes/run-lost-answer.ts';
import { runPageCrash, runSetUpCrash } from '../src/crashes/run-page-crash.ts';
import { runRefundCrash } from '../src/crashes/run-refund-crash.ts';
import { renewalCrashes, runRenewalCrash, shortRenewalCrashes } from '../src/crashes/run-renewal-crash.ts';
import { runSetUpCrash as runCardSetUpCrash } from '../src/crashes/run-set-up-crash.ts';
import { passesStepped, runSteppedCrash, steppedRetries } from '../src/crashes/run-stepped-crash.ts';
import { passesTyped, runTypedCrash, shopperRetries } from '../src/crashes/run-typed-crash.ts';
import { setUpCrashes, shortSetUpCrashes } from '../src/crashes/set-up-crashes.ts';
import { shortTypedCrashes, type TypedPayment, typedCrashes, typedPasses } from '../src/crashes/typed-crashes.ts';
import { sharedRunningShops } from './failpoints.ts';

// As many at once as there are running shops.
vi.setConfig({ maxConcurrency: 2 });

describe.concurrent('all-in-one, when the process is killed or answers are lost', () => {
  const onRunningShop = sharedRunningShops('all-in-one', 2);

  for (const { crash, retry } of crossWithRetries(isLongRun ? confirmCrashes : shortConfirmCrashes, isLongRun)) {
    it(
      `a confirm converges: ${crash.name} (${crash.failpoint}), ${retry}`,
      () => onRunningShop((running) => runConfirmCrash(running, crash, retry)),
      180_000,
    );
  }

  for (const { crash, retry } of crossWithRetries(isLongRun ? lateCrashes : lateCrashes.slice(0, 1), isLongRun)) {
    it(
      `a charge that came too late is canceled: ${crash.name} (${crash.failpoint}), ${retry}`,
      () => onRunningShop((running) => runLateCrash(running, crash.failpoint, retry)),
      180_000,
    );
  }

  for (const fault of isLongRun ? lostAnswers : lostAnswers.slice(0, 1)) {
    it(
      `a confirm converges without a crash: ${fault.kind}`,
      () => onRunningShop((running) => runLostAnswer(running, fault)),
      180_000,
    );
  }

  it(
    'another key waits while the outcome of the first is unknown',
    () => onRunningShop((running) => runAnotherKeyWhileUnknown(running)),
    180_000,
  );

  for (const { crash, retry } of crossWithRetries(isLongRun ? pageCrashes : shortPageCrashes, isLongRun)) {
    it(
      `a payment on the page converges: ${crash.name} (${crash.failpoint}), ${retry}`,
      () => onRunningShop((running) => runPageCrash(running, crash, retry)),
      180_000,
    );
  }

  for (const { crash, retry } of crossWith(isLongRun ? typedCrashes : shortTypedCrashes, shopperRetries, isLongRun)) {
    it(
      `a payment with typed cards converges: ${crash.payment} (${crash.failpoint}, pass ${crash.skip + 1}), ${retry}`,
      () => onRunningShop((running) => runTypedCrash(running, crash, retry)),
      180_000,
    );
  }

  for (const payment of isLongRun ? (Object.keys(typedPasses) as TypedPayment[]) : (['two cards'] as const)) {
    it(
      `a payment with typed cards has a crash at each failpoint that it passes: ${payment}`,
      () => onRunningShop((running) => passesTyped(running, payment)),
      180_000,
    );
  }

  // Once each: the shopper comes back or stays away in turn.
  for (const { crash, retry } of crossWith(isLongRun ? steppedCrashes : shortSteppedCrashes, steppedRetries, false)) {
    it(
      `a payment in two requests of the page converges: ${crash.payment} (request ${crash.step}, ${crash.failpoint}, pass ${crash.skip + 1}), ${retry} [D14.183]`,
      () => onRunningShop((running) => runSteppedCrash(running, crash, retry)),
      180_000,
    );
  }

  for (const payment of Object.keys(steppedPasses).slice(isLongRun ? 0 : -1) as SteppedPayment[]) {
    it(
      `a payment in two requests of the page has a crash at each failpoint that it passes: ${payment}`,
      () => onRunningShop((running) => passesStepped(running, payment)),
      180_000,
    );
  }

  for (const { crash, retry } of crossWithRetries(isLongRun ? captureCrashes : shortCaptureCrashes, isLongRun)) {
    it(
      `a capture converges: ${crash.kind.name} (${crash.failpoint}, pass ${crash.skip + 1}), ${retry} [D14.103]`,
      () => onRunningShop((running) => runCaptureCrash(running, crash, retry)),
      180_000,
    );
  }

  for (const kind of isLongRun ? captureKinds : captureKinds.slice(-1)) {
    it(
      `a capture has a crash at each failpoint that it passes: ${kind.name}`,
      () => onRunningShop((running) => passesCapture(running, kind)),
      180_000,
    );
  }

  // Each waits for the job that looks at holds once a minute. `npm test` has the holds of `lost-hold.in-process.test.ts`.
  for (const crash of isLongRun ? goneHoldCrashes : []) {
    it(
      `a session whose hold is gone ends and voids its other hold (${crash.failpoint})`,
      () => onRunningShop((running) => runGoneHoldCrash(running, crash)),
      240_000,
    );
  }

  it(
    'a set-up is finished by asking again (set_up.reserved)',
    () => onRunningShop((running) => runSetUpCrash(running)),
    180_000,
  );

  for (const { crash, retry } of crossWithRetries(isLongRun ? refundCrashes : shortRefundCrashes, isLongRun)) {
    it(
      `a refund converges: ${crash.name} (${crash.failpoint}), ${retry}`,
      () => onRunningShop((running) => runRefundCrash(running, crash, retry)),
      180_000,
    );
  }

  // Each takes some three seconds of processor time, so `npm test` runs none.
  for (const crash of isLongRun ? cancellationCrashes : []) {
    it(
      `a cancellation with a full refund of what was paid ${crash.paid} converges: ${crash.name} (${crash.failpoint}, pass ${crash.skip + 1}) [D14.4, D14.330]`,
      () => onRunningShop((running) => runCancellationCrash(running, crash)),
      180_000,
    );
  }

  for (const crash of isLongRun ? renewalCrashes : shortRenewalCrashes) {
    it(
      `a renewal converges: ${crash.name} (${crash.failpoint}) [D14.93]`,
      () => onRunningShop((running) => runRenewalCrash(running, crash)),
      180_000,
    );
  }

  for (const crash of isLongRun ? setUpCrashes : shortSetUpCrashes) {
    it(
      `the card of a trial that is ${crash.way} is set up once or not at all: ${crash.name} (${crash.failpoint ?? 'no crash'}) [D14.273]`,
      () => onRunningShop((running) => runCardSetUpCrash(running, crash)),
      180_000,
    );
  }
});
