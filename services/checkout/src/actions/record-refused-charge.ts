import type { Scope, Tx } from '@eligo/postgres';
import { newId } from '@eligo/values';
import { type ChargeAttempt, type RefusalVerdict, settlementOf } from '../domain/charge-attempt.ts';
import type { PaymentIntent } from '../domain/payment-intent.ts';
import { declineSourceOfAttempt } from '../domain/session-declines.ts';
import { recordDecline } from '../store/payment-intents.ts';
import { appendChargeEvent, appendIntentEvent, newCharge } from './payment-events.ts';

/** Records a charge that the processor refused: the failed charge, its intent, their events, and the decline of its session. The attempt itself is settled by the caller. */
export async function recordRefusedCharge(
  tx: Tx,
  scope: Scope,
  attempt: ChargeAttempt,
  verdict: RefusalVerdict,
): Promise<PaymentIntent> {
  const { paymentIntentId, processorIntentId, actingAt: at } = attempt;
  const chargeId = newId('charge');
  const processorChargeId = verdict.kind === 'declined' ? (verdict.chargeId ?? null) : null;
  const { declineCode } = settlementOf(verdict);
  const reported = { chargeId, processorChargeId, at, failureCode: verdict.code, declineCode };
  const by = declineSourceOfAttempt(attempt);
  const counted = by && { sessionId: attempt.subjectId, by };
  const intent = await recordDecline(tx, scope, paymentIntentId, reported, processorIntentId, counted);
  const charge = newCharge(intent, chargeId, at);
  await Promise.all([
    appendChargeEvent(
      tx,
      scope,
      'charge.failed',
      { ...charge, status: 'failed', failureCode: verdict.code, declineCode },
      at,
    ),
    appendIntentEvent(tx, scope, 'payment_intent.payment_failed', intent, at),
  ]);
  return intent;
}
