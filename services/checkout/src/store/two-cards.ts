import { maxGroupSize, type Scope, scoped, type Tx } from '@eligo/postgres';
import type { ChargeAttempt } from '../domain/charge-attempt.ts';
import type { HoldTime } from '../domain/hold.ts';
import type { Session } from '../domain/session.ts';
import { type BegunAttempt, begunRow, begunText, insertBothText } from './charge-attempts.ts';
import { customerExistsText } from './customers.ts';
import type { ReportedCharge } from './payment-intents.ts';
import { ownPlanText, type PaymentPlan } from './payment-plans.ts';
import { takesCardsOnPageText } from './session-declines.ts';

/** The first card of a payment with two, which is held, and the attempt of the second, which begins with it. */
export interface HeldFirst {
  readonly before: Session;
  readonly after: Session;
  readonly plan: Pick<PaymentPlan, 'id' | 'epoch'>;
  readonly attempt: ChargeAttempt;
  readonly charge: ReportedCharge;
  readonly hold: HoldTime;
  readonly second: BegunAttempt;
}

/**
 * Records that the first cards of some payments are held, at most 16, and begins the charges of the second ones. False when a session was changed since it was
 * read, an attempt is settled already, or another process works on a plan: the caller then rolls back and settles from the rows as they are.
 */
export async function settleHeldFirst(tx: Tx, scope: Scope, holds: readonly HeldFirst[]): Promise<boolean> {
  const written = await tx.row(settle, scope, [
    JSON.stringify(holds.map(({ second }) => begunRow(second))),
    JSON.stringify(holds.map(rowOf)),
  ]);
  return written?.plans === BigInt(holds.length);
}

// The sessions first, as every writer locks them, and all else depends on them. The limit is the group's own; without it the planner expects a hundred rows of
// JSON.
const settle = scoped<{ plans: bigint }>(
  'page_payments.settle_held_first',
  `with ${begunText}, held as materialized (
     select c.* from json_to_recordset($4::json) as c (
       session_id text, version bigint, intent_ids text[], attempt_id text, intent_id text, charge_id text, processor_charge_id text,
       processor_intent_id text, at timestamptz, capture_before timestamptz, check_at timestamptz, plan_id text, plan_epoch integer,
       second_id text)
     limit ${maxGroupSize}
   ), session as (
     update checkout.sessions s set payment_intent_ids = c.intent_ids, version = s.version + 1
     from held c
     where s.account_id = $1 and s.test_mode = $2 and s.id = c.session_id and s.version = c.version and s.status = 'open'
       and ${takesCardsOnPageText} and ${customerExistsText}
     returning c.*
   ), first as (
     update checkout.charge_attempts a set status = 'succeeded'
     from session c
     where a.account_id = $1 and a.test_mode = $2 and a.id = c.attempt_id and a.status in ('sending', 'unknown')
     returning c.*
   ), first_intent as (
     update checkout.payment_intents i set status = 'requires_capture', amount_capturable_cents = i.amount_cents,
       latest_charge_id = c.charge_id, processor_intent_id = c.processor_intent_id, capture_before = c.capture_before,
       hold_check_at = c.check_at
     from first c
     where i.account_id = $1 and i.test_mode = $2 and i.id = c.intent_id
     returning c.*, i.amount_cents, i.payment_method_id
   ), charge as (
     insert into checkout.charges (account_id, test_mode, id, payment_intent_id, payment_method_id, status, amount_cents,
       processor_charge_id, created_at)
     select $1, $2, c.charge_id, c.intent_id, c.payment_method_id, 'succeeded', c.amount_cents, c.processor_charge_id, c.at
     from first_intent c
   ), record as (
     update checkout.eligibility_records r set charged_attempt_id = c.attempt_id
     from first_intent c where r.account_id = $1 and r.test_mode = $2 and r.session_id = c.session_id
   ), ${insertBothText}, ${ownPlanText(
     "other_attempt_id = b.id, lease_until = clock_timestamp() + b.lease_ms * interval '1 millisecond'",
     'first_intent c join begun b on b.id = c.second_id',
   )}
   select count(*) as plans from plan`,
);

function rowOf({ before, after, plan, attempt, charge, hold, second }: HeldFirst) {
  return {
    session_id: before.id,
    version: String(before.version),
    intent_ids: after.paymentIntentIds,
    attempt_id: attempt.id,
    intent_id: attempt.paymentIntentId,
    charge_id: charge.chargeId,
    processor_charge_id: charge.processorChargeId,
    processor_intent_id: attempt.processorIntentId,
    at: charge.at,
    capture_before: hold.captureBefore,
    check_at: hold.checkAt,
    plan_id: plan.id,
    plan_epoch: plan.epoch,
    second_id: second.attempt.id,
  };
}
