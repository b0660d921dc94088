import type { Failure } from '@eligo/failures';
import { finishKeyOfAttempt, type Scope, type Tx, unlinkAttempt } from '@eligo/postgres';
import { abandonAttempt as markAbandoned } from '../store/charge-attempts.ts';
import { recordRelease } from '../store/payment-intents.ts';
import { releasePaymentLocks } from '../store/payment-locks.ts';
import { refusalAnswer } from './confirm-answer.ts';
import { appendIntentEvent } from './payment-events.ts';

/** Why an attempt is abandoned. */
export interface Abandonment {
  /** How the session ended; the attempt's key answers this from then on. Without it the key is free for a new attempt. */
  readonly ended?: Failure | undefined;
  readonly failureCode?: string | undefined;
}

/**
 * Abandons an attempt that was never sent and that no process works on: cancels its intent, publishes the change, and finishes or frees the key that
 * began it. Does nothing to any other attempt. Returns whether it abandoned the attempt.
 */
export async function abandonAttempt(
  tx: Tx,
  scope: Scope,
  attemptId: string,
  { ended, failureCode }: Abandonment = {},
): Promise<boolean> {
  const abandoned = await markAbandoned(tx, scope, attemptId, failureCode ?? null);
  if (abandoned === undefined) return false;
  const intent = await recordRelease(tx, scope, abandoned.paymentIntentId);
  await Promise.all([
    releasePaymentLocks(tx, scope, attemptId),
    ended === undefined
      ? unlinkAttempt(tx, scope, attemptId)
      : finishKeyOfAttempt(tx, scope, attemptId, refusalAnswer(ended)),
    appendIntentEvent(tx, scope, 'payment_intent.canceled', intent, abandoned.actingAt),
  ]);
  return true;
}
