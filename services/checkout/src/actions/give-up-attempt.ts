import { type Scope, type Tx, unlinkAttempt } from '@eligo/postgres';
import { abandonAttempt } from '../store/charge-attempts.ts';
import { recordRelease } from '../store/payment-intents.ts';
import { releasePaymentLocks } from '../store/payment-locks.ts';
import { appendIntentEvent } from './payment-events.ts';

/**
 * Gives up an attempt that was never sent and that nobody works on: its intent is canceled, which is told as every change is, and the key that
 * began it may begin anew. Does nothing to any other attempt. Answers whether it gave it up.
 */
export async function giveUpAttempt(tx: Tx, scope: Scope, attemptId: string): Promise<boolean> {
  const given = await abandonAttempt(tx, scope, attemptId);
  if (given === undefined) return false;
  const intent = await recordRelease(tx, scope, given.paymentIntentId);
  await Promise.all([
    releasePaymentLocks(tx, scope, attemptId),
    unlinkAttempt(tx, scope, attemptId),
    appendIntentEvent(tx, scope, 'payment_intent.canceled', intent, given.actingAt),
  ]);
  return true;
}
