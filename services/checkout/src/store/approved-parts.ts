import { type Scope, scoped, type Tx } from '@eligo/postgres';
import type { Cents } from '@eligo/values';
import type { HealthcareCents } from '../domain/charge-attempt.ts';

const accept = scoped(
  'checkout.charge_attempt_accept_part',
  `update checkout.charge_attempts set accepts_part = true where account_id = $1 and test_mode = $2 and id = $3 and status = 'created'`,
);

/** The processor may be asked to approve a part of a new attempt's amount. */
export async function acceptPart(tx: Tx, scope: Scope, attemptId: string): Promise<void> {
  await tx.execute(accept, scope, [attemptId]);
}

const record = scoped(
  'checkout.charge_attempt_part',
  `with attempt as (
     update checkout.charge_attempts a set asked_cents = a.amount_cents, amount_cents = $4, iias_cents = $5, prescription_cents = $6,
       vision_cents = $7, service_cents = $8
     where a.account_id = $1 and a.test_mode = $2 and a.id = $3 and a.status in ('sending', 'unknown')
     returning a.subject_id, a.asked_cents
   )
   update checkout.payment_plans p set asked_cents = a.asked_cents, health_cents = $4, other_cents = p.other_cents + a.asked_cents - $4,
     other_payment_method_id = null
   from attempt a
   where p.account_id = $1 and p.test_mode = $2 and p.session_id = a.subject_id and p.health_attempt_id = $3
     and p.state in ('running', 'releasing')
`,
);

/**
 * Records that the health card was approved for a part: the attempt and its plan are for the part, and the rest goes to another card, which the shopper has to
 * name. Does nothing once the attempt is settled. The caller holds the session's row.
 */
export async function recordPart(
  tx: Tx,
  scope: Scope,
  attemptId: string,
  part: { readonly amountCents: Cents; readonly healthcare: HealthcareCents },
): Promise<void> {
  const { iiasCents, prescriptionCents, visionCents, serviceCents } = part.healthcare;
  await tx.execute(record, scope, [
    ...[attemptId, part.amountCents, iiasCents, prescriptionCents, visionCents, serviceCents],
  ]);
}
