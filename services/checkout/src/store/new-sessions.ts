import { type Scope, scoped, type Tx } from '@eligo/postgres';
import type { EligibilityRecord, Session, SessionLine } from '../domain/session.ts';

/** A session with all that is written with it. */
export interface NewSessionRows {
  readonly session: Session;
  readonly lines: readonly SessionLine[];
  /** Undefined for a session without lines. */
  readonly eligibility: EligibilityRecord | undefined;
}

/**
 * Writes a new session with its parts: the session with its lines and its eligibility record in one statement, one more for each other table that
 * has rows, all sent at once.
 */
export async function insertSession(
  tx: Tx,
  scope: Scope,
  { session, lines, eligibility }: NewSessionRows,
): Promise<void> {
  const values = sessionValues(session);
  const writes: Promise<number>[] = [];
  if (eligibility === undefined) {
    if (lines.length > 0) throw new Error('A session with lines must have an eligibility record');
    writes.push(tx.execute(insertOne, scope, values));
  } else {
    const { id, eligibleCents, foodPolicy, policyVersion } = eligibility;
    const linesText = JSON.stringify(lines.map(lineRow));
    writes.push(
      tx.execute(insertWithLines, scope, [...values, linesText, id, eligibleCents, foodPolicy, policyVersion]),
    );
  }
  if (session.fees.length > 0) {
    writes.push(tx.execute(insertFees, scope, [session.id, JSON.stringify(session.fees)]));
  }
  if (session.discounts.length > 0) {
    writes.push(tx.execute(insertDiscounts, scope, [session.id, JSON.stringify(session.discounts)]));
  }
  const plans = new Set((session.details.sellingPlans ?? []).flatMap(({ id }) => (id === undefined ? [] : [id])));
  if (plans.size > 0) writes.push(tx.execute(insertPlans, scope, [session.id, [...plans]]));
  await Promise.all(writes);
}

function sessionValues(session: Session): unknown[] {
  return [
    session.id,
    session.status,
    session.mode,
    session.captureMethod,
    session.customerId,
    session.customerEmail,
    session.testClockId,
    session.paymentMethodId,
    session.clientReferenceId,
    session.setupFutureUse,
    session.amountSubtotalCents,
    session.amountDiscountCents,
    session.amountTaxCents,
    session.amountShippingCents,
    session.amountFeeCents,
    session.amountTotalCents,
    session.amountEligibleCents,
    session.amountIiasCents,
    session.amountPrescriptionCents,
    session.amountVisionCents,
    session.amountServiceCents,
    session.letterRequired,
    session.letterFeeCents,
    session.letterFeeStatus,
    session.fees.length,
    session.discounts.length,
    session.visitType,
    session.expiresAt,
    session.createdAt,
    session.splitCartId,
    session.storefrontPaymentDetails,
    session.shippingDetails,
    session.metadata,
    session.details,
  ];
}

function lineRow(line: SessionLine) {
  const { recurring, ...rest } = line;
  return {
    ...rest,
    recurringInterval: recurring?.interval ?? null,
    recurringIntervalCount: recurring?.intervalCount ?? null,
    recurringTrialDays: recurring?.trialDays ?? null,
  };
}

// $3 to $36 are the values of `sessionValues`.
const intoSessions = `insert into checkout.sessions
     (account_id, test_mode, id, status, mode, capture_method, customer_id, customer_email, test_clock_id, payment_method_id,
      client_reference_id, setup_future_use, amount_subtotal_cents, amount_discount_cents, amount_tax_cents,
      amount_shipping_cents, amount_fee_cents, amount_total_cents, amount_eligible_cents, amount_iias_cents,
      amount_prescription_cents, amount_vision_cents, amount_service_cents, letter_required, letter_fee_cents,
      letter_fee_status, fee_count, discount_count, visit_type, expires_at, created_at, split_cart_id,
      storefront_payment_details, shipping_details, metadata, details)
   values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25,
      $26, $27, $28, $29, $30, $31, $32, $33, $34, $35, $36)`;

const insertOne = scoped<never>('sessions.insert', intoSessions);

// Numbers in JSON are exact here: Postgres reads their text as bigint, and ours are safe integers.
const insertWithLines = scoped<never>(
  'sessions.insert_with_lines',
  `with session as (
     ${intoSessions}
   ), lines as (
     insert into checkout.session_lines
       (account_id, test_mode, session_id, id, position, price_id, product_id, description, quantity, unit_amount_cents,
        amount_subtotal_cents, amount_discount_cents, amount_tax_cents, amount_shipping_cents, amount_fee_cents,
        amount_total_cents, amount_eligible_cents, eligibility_class, eligibility_rule, eligibility_rule_version, rationale,
        recurring_interval, recurring_interval_count, recurring_trial_days)
     select $1, $2, $3, l.* from json_to_recordset($37::json) as l (
       id text, position smallint, "priceId" text, "productId" text, description text, quantity bigint,
       "unitAmountCents" bigint, "amountSubtotalCents" bigint, "amountDiscountCents" bigint, "amountTaxCents" bigint,
       "amountShippingCents" bigint, "amountFeeCents" bigint, "amountTotalCents" bigint, "amountEligibleCents" bigint,
       "eligibilityClass" text, "eligibilityRule" text, "eligibilityRuleVersion" text, rationale text,
       "recurringInterval" text, "recurringIntervalCount" integer, "recurringTrialDays" integer)
   )
   insert into checkout.eligibility_records
     (account_id, test_mode, id, session_id, eligible_cents, food_policy, policy_version, created_at)
   values ($1, $2, $38, $3, $39, $40, $41, $31)`,
);

const insertFees = scoped<never>(
  'session_fees.insert',
  `insert into checkout.session_fees
     (account_id, test_mode, session_id, position, id, amount_cents, name, description, fee_type, applied, waived_reason)
   select $1, $2, $3, f.position - 1, f.id, f."amountCents", f.name, f.description, f."feeType", f.applied, f."waivedReason"
   from rows from (json_to_recordset($4::json) as (
     id text, "amountCents" bigint, name text, description text, "feeType" text, applied boolean, "waivedReason" text))
     with ordinality f (id, "amountCents", name, description, "feeType", applied, "waivedReason", position)`,
);

const insertDiscounts = scoped<never>(
  'session_discounts.insert',
  `insert into checkout.session_discounts
     (account_id, test_mode, session_id, position, id, coupon_id, promo_code_id, coupon, amount_cents)
   select $1, $2, $3, d.position - 1, d.id, d."couponId", d."promoCodeId", d.coupon, d."amountCents"
   from rows from (json_to_recordset($4::json) as (
     id text, "couponId" text, "promoCodeId" text, coupon jsonb, "amountCents" bigint))
     with ordinality d (id, "couponId", "promoCodeId", coupon, "amountCents", position)`,
);

const insertPlans = scoped<never>(
  'session_selling_plans.insert',
  `insert into checkout.session_selling_plans (account_id, test_mode, selling_plan_id, session_id)
   select $1, $2, plan, $3 from unnest($4::text[]) as plan`,
);
