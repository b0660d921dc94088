import type { Failure } from '@eligo/failures';
import { finishKeyOfAttempt, type Scope, type Tx, unlinkAttempt } from '@eligo/postgres';
import { abandonAttempt } from '../store/charge-attempts.ts';
import { recordRelease } from '../store/payment-intents.ts';
import { releasePaymentLocks } from '../store/payment-locks.ts';
import { refusalAnswer } from './confirm-answer.ts';
import { appendIntentEvent } from './payment-events.ts';

/** Why an attempt is given up. */
export interface GivingUp {
  /** How its session has ended: the key that began it answers this for good. Without it the key may begin anew. */
  readonly ended?: Failure | undefined;
  readonly failureCode?: string | undefined;
}

/**
 * Gives up an attempt that was never sent and that nobody works on: its intent is canceled, which is told as every change is, and the key that
 * began it is told how the session ended or may begin anew. Does nothing to any other attempt. Answers whether it gave it up.
 */
export async function giveUpAttempt(
  tx: Tx,
  scope: Scope,
  attemptId: string,
  { ended, failureCode }: GivingUp = {},
): Promise<boolean> {
  const given = await abandonAttempt(tx, scope, attemptId, failureCode ?? null);
  if (given === undefined) return false;
  const intent = await recordRelease(tx, scope, given.paymentIntentId);
  await Promise.all([
    releasePaymentLocks(tx, scope, attemptId),
    ended === undefined
      ? unlinkAttempt(tx, scope, attemptId)
      : finishKeyOfAttempt(tx, scope, attemptId, refusalAnswer(ended)),
    appendIntentEvent(tx, scope, 'payment_intent.canceled', intent, given.actingAt),
  ]);
  return true;
}
