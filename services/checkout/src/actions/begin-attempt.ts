import type { Scope, Tx } from '@eligo/postgres';
import { cents } from '@eligo/values';
import type { ChargeBudgets } from '../charge-budgets.ts';
import type { ChargeAttempt, HealthcareCents } from '../domain/charge-attempt.ts';
import type { PaymentIntent } from '../domain/payment-intent.ts';
import type { Session } from '../domain/session.ts';
import { type IntentOwners, insertAttempts, insertLockedAttempts, type NewAttempt } from '../store/charge-attempts.ts';
import { appendIntentEvent } from './payment-events.ts';

/** Writes a new attempt with its payment intent, which it returns, and appends the event. Nothing is sent yet: it may still be abandoned. */
export async function beginAttempt(
  tx: Tx,
  scope: Scope,
  attempt: NewAttempt,
  owners: IntentOwners,
): Promise<PaymentIntent> {
  const intent = newIntent(attempt, owners);
  await Promise.all([
    insertAttempts(tx, scope, [{ attempt, owners }]),
    appendIntentEvent(tx, scope, 'payment_intent.created', intent, attempt.actingAt),
  ]);
  return intent;
}

/** The same, with the customer and the payment method locked for it; undefined when another payment holds one: the caller rolls back. */
export async function beginLockedAttempt(
  tx: Tx,
  scope: Scope,
  attempt: NewAttempt,
  owners: IntentOwners,
): Promise<PaymentIntent | undefined> {
  const intent = newIntent(attempt, owners);
  const [isLocked] = await Promise.all([
    insertLockedAttempts(tx, scope, [{ attempt, owners }]),
    appendIntentEvent(tx, scope, 'payment_intent.created', intent, attempt.actingAt),
  ]);
  return isLocked ? intent : undefined;
}

/** The intent of a new attempt, as its row holds it. */
export function newIntent(attempt: NewAttempt, owners: IntentOwners): PaymentIntent {
  return {
    id: attempt.paymentIntentId,
    ...owners,
    customerId: attempt.customerId,
    paymentMethodId: attempt.paymentMethodId,
    leg: attempt.leg,
    captureMethod: attempt.captureMethod,
    status: 'processing',
    amountCents: attempt.amountCents,
    amountCapturableCents: cents(0),
    amountReceivedCents: cents(0),
    amountRefundedCents: cents(0),
    amountDisputedCents: cents(0),
    processorAccount: attempt.processorAccount,
    processorIntentId: null,
    latestChargeId: null,
    captureBefore: null,
    metadata: {},
    createdAt: attempt.actingAt,
  };
}

/** The attempt as its new row holds it. */
export function attemptAsCreated(attempt: NewAttempt): ChargeAttempt {
  const { leaseMs: _lease, confirmMs: _confirm, ...rest } = attempt;
  return {
    ...rest,
    status: 'created',
    epoch: 1,
    sends: 0,
    checks: 0,
    processorIntentId: null,
    failureCode: null,
    declineCode: null,
    createdAt: attempt.actingAt,
    leaseDead: false,
    confirmOver: false,
  };
}

/**
 * For how long a charge of a session that begins at this time on its clock may be confirmed: until the session ends, and never longer than a claim's
 * window. It is counted in database time from the claim on. A test clock that is moved past the session's end ends it at once
 * (`takeOverAttempt`).
 */
export function confirmTimeMs({ confirmMs }: ChargeBudgets, { expiresAt }: Session, at: Date): number {
  return Math.min(confirmMs, expiresAt.getTime() - at.getTime());
}

/** The buckets of a session's eligible part, which is what a health card pays. */
export function healthcareOf(session: Session): HealthcareCents {
  return {
    iiasCents: session.amountIiasCents,
    prescriptionCents: session.amountPrescriptionCents,
    visionCents: session.amountVisionCents,
    serviceCents: session.amountServiceCents,
  };
}
