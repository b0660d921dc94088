import { append } from '@eligo/events';
import type { Scope, Tx } from '@eligo/postgres';
import type { Charge, PaymentIntent } from '../domain/payment-intent.ts';
import type { Session } from '../domain/session.ts';
import { chargeMessage, intentMessage } from '../rpc/intent-messages.ts';
import { sessionMessage } from '../rpc/session-message.ts';

type IntentEvent =
  | 'payment_intent.created'
  | 'payment_intent.succeeded'
  | 'payment_intent.payment_failed'
  | 'payment_intent.canceled';
type ChargeEvent = 'charge.succeeded' | 'charge.failed' | 'charge.captured' | 'charge.refunded';

/** Appends an event of a payment intent, as it is in this transaction. The caller holds the subject's row. */
export async function appendIntentEvent(
  tx: Tx,
  scope: Scope,
  type: IntentEvent,
  intent: PaymentIntent,
  at: Date,
): Promise<void> {
  await append(tx, {
    ...scope,
    type,
    aggregateId: intent.id,
    at,
    object: { case: 'paymentIntent', value: intentMessage(scope, intent) },
  });
}

/** Appends an event of a charge. */
export async function appendChargeEvent(
  tx: Tx,
  scope: Scope,
  type: ChargeEvent,
  charge: Charge,
  at: Date,
): Promise<void> {
  await append(tx, {
    ...scope,
    type,
    aggregateId: charge.id,
    at,
    object: { case: 'charge', value: chargeMessage(scope, charge) },
  });
}

/** Appends an event of a session. */
export async function appendSessionEvent(
  tx: Tx,
  scope: Scope,
  type: `checkout.session.${string}`,
  session: Session,
  at: Date,
): Promise<void> {
  await append(tx, {
    ...scope,
    type,
    aggregateId: session.id,
    at,
    object: { case: 'checkoutSession', value: sessionMessage(scope, session) },
  });
}
