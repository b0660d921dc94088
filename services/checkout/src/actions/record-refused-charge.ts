import type { Scope, Tx } from '@eligo/postgres';
import { newId } from '@eligo/values';
import { type ChargeAttempt, type RefusalVerdict, settlementOf } from '../domain/charge-attempt.ts';
import type { PaymentIntent } from '../domain/payment-intent.ts';
import { recordDecline } from '../store/payment-intents.ts';
import { appendChargeEvent, appendIntentEvent, newCharge } from './payment-events.ts';

/** Records a charge that the processor refused: the failed charge, its intent, and their events. The attempt itself is settled by the caller. */
export async function recordRefusedCharge(
  tx: Tx,
  scope: Scope,
  { paymentIntentId, processorIntentId, actingAt: at }: ChargeAttempt,
  verdict: RefusalVerdict,
): Promise<PaymentIntent> {
  const chargeId = newId('charge');
  const processorChargeId = verdict.kind === 'declined' ? (verdict.chargeId ?? null) : null;
  const { declineCode } = settlementOf(verdict);
  const reported = { chargeId, processorChargeId, at, failureCode: verdict.code, declineCode };
  const intent = await recordDecline(tx, scope, paymentIntentId, reported, processorIntentId);
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
