import { append, type NewEvent } from '@eligo/events';
import type { Scope, Tx } from '@eligo/postgres';
import { balanceTransactionOf } from '../domain/balance-transaction.ts';
import type { Charge, PaymentIntent } from '../domain/payment-intent.ts';
import type { Session } from '../domain/session.ts';
import { chargeMessage, intentMessage } from '../messages/intents.ts';
import { sessionMessage } from '../messages/session.ts';

type IntentEvent =
  | 'payment_intent.created'
  | 'payment_intent.succeeded'
  | 'payment_intent.payment_failed'
  | 'payment_intent.hold_will_lapse'
  | 'payment_intent.canceled';
type SessionEvent = `checkout.session.${string}`;
type ChargeEvent = 'charge.succeeded' | 'charge.failed' | 'charge.captured' | 'charge.refunded';

/** Appends an event of a payment intent, as it is in this transaction. The caller holds the subject's row. */
export async function appendIntentEvent(
  tx: Tx,
  scope: Scope,
  type: IntentEvent,
  intent: PaymentIntent,
  at: Date,
): Promise<void> {
  await append(tx, intentEvent(scope, type, intent, at));
}

/** Appends an event of a charge. */
export async function appendChargeEvent(
  tx: Tx,
  scope: Scope,
  type: ChargeEvent,
  charge: Charge,
  at: Date,
): Promise<void> {
  await append(tx, chargeEvent(scope, type, charge, at));
}

/** Appends an event of a session. */
export async function appendSessionEvent(
  tx: Tx,
  scope: Scope,
  type: SessionEvent,
  session: Session,
  at: Date,
): Promise<void> {
  await append(tx, sessionEvent(scope, type, session, at));
}

/** The event of a payment intent, to be appended with others of the same change. */
export function intentEvent(scope: Scope, type: IntentEvent, intent: PaymentIntent, at: Date): NewEvent {
  const object = { case: 'paymentIntent', value: intentMessage(scope, intent) } as const;
  return { ...scope, type, aggregateId: intent.id, at, object };
}

/** The same of a charge. */
export function chargeEvent(scope: Scope, type: ChargeEvent, charge: Charge, at: Date): NewEvent {
  const object = { case: 'charge', value: chargeMessage(scope, charge) } as const;
  return { ...scope, type, aggregateId: charge.id, at, object };
}

/** The same of a session. */
export function sessionEvent(scope: Scope, type: SessionEvent, session: Session, at: Date): NewEvent {
  const object = { case: 'checkoutSession', value: sessionMessage(scope, session) } as const;
  return { ...scope, type, aggregateId: session.id, at, object };
}

/** The charge that a success makes, as its intent is now. */
export function newCharge(intent: PaymentIntent, chargeId: string, at: Date): Charge {
  return {
    id: chargeId,
    paymentIntentId: intent.id,
    paymentMethodId: intent.paymentMethodId,
    status: 'succeeded',
    amountCents: intent.amountCents,
    amountCapturedCents: intent.amountReceivedCents,
    amountRefundedCents: intent.amountRefundedCents,
    failureCode: null,
    declineCode: null,
    balanceTransactionId: intent.amountReceivedCents > 0 ? balanceTransactionOf(chargeId) : null,
    disputed: false,
    createdAt: at,
  };
}
