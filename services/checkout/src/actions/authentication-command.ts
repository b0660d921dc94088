import { create } from '@bufbuild/protobuf';
import { append } from '@eligo/events';
import type { Scope, Tx } from '@eligo/postgres';
import { ChargeAuthenticatedSchema } from '@eligo/proto/events/v1/events';
import { present } from '@eligo/values';
import type { ChargeAttempt } from '../domain/charge-attempt.ts';
import type { PaymentIntent } from '../domain/payment-intent.ts';

/**
 * Tells billing what became of a charge that waited for its customer. Nothing for any other charge: billing gets its outcome with the answer to its call.
 * `attempt` is as it was settled.
 */
export async function appendChargeAuthenticated(
  tx: Tx,
  scope: Scope,
  attempt: ChargeAttempt,
  intent: PaymentIntent,
): Promise<void> {
  const { authenticateUntil, operationId, subjectId, status, failureCode, declineCode, actingAt: at } = attempt;
  const { subscriptionId } = intent;
  if (authenticateUntil == null || operationId === null || subscriptionId === null) return;
  const value = create(ChargeAuthenticatedSchema, {
    ...{ operationId, invoiceId: subjectId, subscriptionId, paymentIntentId: intent.id },
    outcome: status === 'failed' ? 'declined' : status,
    ...present({ chargeId: intent.latestChargeId, failureCode, declineCode }),
  });
  await append(tx, {
    ...{ ...scope, type: 'command.charge.authenticated', aggregateId: operationId, at },
    object: { case: 'chargeAuthenticated', value },
  });
}
