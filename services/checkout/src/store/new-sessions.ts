import { maxGroupSize, type Scope, scoped, type Tx } from '@eligo/postgres';
import type { EligibilityRecord, ExistingLetter, Session, SessionLine } from '../domain/session.ts';
import type { SessionKey } from './session-keys.ts';

/** A session with all that is written with it. */
export interface NewSessionRows {
  readonly session: Session;
  readonly lines: readonly SessionLine[];
  /** Undefined for a session without lines. */
  readonly eligibility: EligibilityRecord | undefined;
  readonly existingLetters: readonly ExistingLetter[];
}

/** Writes a new session with its parts: one statement for what most sessions have, one more for discounts, for existing letters and for selling plans, all sent at once. */
export async function insertSession(tx: Tx, scope: Scope, rows: NewSessionRows): Promise<void> {
  const { session } = rows;
  const writes: Promise<unknown>[] = [insertSessions(tx, scope, [rows])];
  if (session.discounts.length > 0) {
    writes.push(tx.execute(insertDiscounts, scope, [session.id, JSON.stringify(session.discounts)]));
  }
  if (rows.existingLetters.length > 0) {
    writes.push(
      tx.execute(insertLetters, scope, [
        session.id,
        rows.existingLetters.map(({ productId }) => productId),
        rows.existingLetters.map(({ letterId }) => letterId),
      ]),
    );
  }
  const plans = plansOf(session);
  if (plans.length > 0) writes.push(tx.execute(insertPlans, scope, [session.id, plans]));
  await Promise.all(writes);
}

/** Whether one statement writes all of a session: it has neither discounts, selling plans nor existing letters. */
export function isWrittenByOneStatement({ session, existingLetters }: NewSessionRows): boolean {
  return session.discounts.length === 0 && existingLetters.length === 0 && plansOf(session).length === 0;
}

/** Writes new sessions with their lines, fees and eligibility records, at most 16, with one statement. Discounts, existing letters and selling plans are not written. */
export async function insertSessions(tx: Tx, scope: Scope, rows: readonly NewSessionRows[]): Promise<void> {
  const { parts, values } = written(rows);
  await tx.execute(inserts[parts], scope, values.map(toJson));
}

/** A new session, and a key that has stood for none. */
export interface KeyedSessionRows {
  readonly rows: NewSessionRows;
  readonly key: SessionKey;
}

/** Writes sessions in the same way, each with its key. Answers which were written: one is not if another request has used its key meanwhile. */
export async function insertKeyedSessions(
  tx: Tx,
  scope: Scope,
  sessions: readonly KeyedSessionRows[],
): Promise<boolean[]> {
  const { parts, values } = written(sessions.map(({ rows }) => rows));
  const keys = sessions.map(({ key, rows }) => ({
    ...{ key: key.key, session_id: rows.session.id },
    request_hash: Buffer.from(key.requestHash).toString('hex'),
  }));
  const taken = await tx.rows(keyedInserts[parts], scope, [...values, keys].map(toJson));
  const ids = new Set(taken.map(({ session_id }) => session_id));
  return sessions.map(({ rows }) => ids.has(rows.session.id));
}

function toJson(value: unknown): string {
  return JSON.stringify(value);
}

/** What some sessions consist of, which decides the statement that writes them. */
type Parts = 'sessions' | 'with_lines' | 'with_fees';

function written(rows: readonly NewSessionRows[]): { parts: Parts; values: unknown[] } {
  const sessions = rows.map(({ session }) => sessionRow(session));
  const lines = rows.flatMap(({ lines: own }) => own.map(lineRow));
  const fees = rows.flatMap(({ session }) =>
    session.fees.map((fee, position) => ({ ...fee, position, sessionId: session.id })),
  );
  const records = rows.flatMap(({ session, eligibility }) =>
    eligibility === undefined ? [] : [{ ...eligibility, createdAt: session.createdAt }],
  );
  if (rows.some((row) => row.lines.length > 0 && row.eligibility === undefined)) {
    throw new Error('A session with lines must have an eligibility record');
  }
  if (fees.length > 0) return { parts: 'with_fees', values: [sessions, lines, records, fees] };
  if (records.length > 0) return { parts: 'with_lines', values: [sessions, lines, records] };
  return { parts: 'sessions', values: [sessions] };
}

function plansOf({ details }: Session): string[] {
  return [...new Set((details.sellingPlans ?? []).flatMap(({ id }) => (id === undefined ? [] : [id])))];
}

// Under the names of the columns.
function sessionRow(session: Session) {
  return {
    id: session.id,
    status: session.status,
    mode: session.mode,
    capture_method: session.captureMethod,
    customer_id: session.customerId,
    customer_email: session.customerEmail,
    test_clock_id: session.testClockId,
    payment_method_id: session.paymentMethodId,
    client_reference_id: session.clientReferenceId,
    setup_future_use: session.setupFutureUse,
    amount_subtotal_cents: session.amountSubtotalCents,
    amount_discount_cents: session.amountDiscountCents,
    amount_tax_cents: session.amountTaxCents,
    amount_shipping_cents: session.amountShippingCents,
    amount_fee_cents: session.amountFeeCents,
    amount_total_cents: session.amountTotalCents,
    amount_eligible_cents: session.amountEligibleCents,
    amount_iias_cents: session.amountIiasCents,
    amount_prescription_cents: session.amountPrescriptionCents,
    amount_vision_cents: session.amountVisionCents,
    amount_service_cents: session.amountServiceCents,
    letter_required: session.letterRequired,
    letter_fee_cents: session.letterFeeCents,
    letter_fee_status: session.letterFeeStatus,
    fee_count: session.fees.length,
    discount_count: session.discounts.length,
    visit_type: session.visitType,
    expires_at: session.expiresAt,
    created_at: session.createdAt,
    split_cart_id: session.splitCartId,
    storefront_payment_details: session.storefrontPaymentDetails,
    shipping_details: session.shippingDetails,
    metadata: session.metadata,
    details: session.details,
  };
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

// Numbers in JSON are exact here: Postgres reads their text as bigint, and ours are safe integers. The limit is that of a group; without it the planner
// expects a hundred rows of JSON.
const intoSessions = (where = '') => `insert into checkout.sessions
     (account_id, test_mode, id, status, mode, capture_method, customer_id, customer_email, test_clock_id, payment_method_id,
      client_reference_id, setup_future_use, amount_subtotal_cents, amount_discount_cents, amount_tax_cents,
      amount_shipping_cents, amount_fee_cents, amount_total_cents, amount_eligible_cents, amount_iias_cents,
      amount_prescription_cents, amount_vision_cents, amount_service_cents, letter_required, letter_fee_cents,
      letter_fee_status, fee_count, discount_count, visit_type, expires_at, created_at, split_cart_id,
      storefront_payment_details, shipping_details, metadata, details)
   select $1, $2, s.* from json_to_recordset($3::json) as s (
     id text, status text, mode text, capture_method text, customer_id text, customer_email text, test_clock_id text,
     payment_method_id text, client_reference_id text, setup_future_use text, amount_subtotal_cents bigint,
     amount_discount_cents bigint, amount_tax_cents bigint, amount_shipping_cents bigint, amount_fee_cents bigint,
     amount_total_cents bigint, amount_eligible_cents bigint, amount_iias_cents bigint, amount_prescription_cents bigint,
     amount_vision_cents bigint, amount_service_cents bigint, letter_required boolean, letter_fee_cents bigint,
     letter_fee_status text, fee_count smallint, discount_count smallint, visit_type text, expires_at timestamptz,
     created_at timestamptz, split_cart_id text, storefront_payment_details jsonb, shipping_details jsonb, metadata jsonb,
     details jsonb)
   ${where} limit ${maxGroupSize}`;

const intoLines = (where = '') => `insert into checkout.session_lines
     (account_id, test_mode, session_id, id, position, price_id, product_id, description, quantity, unit_amount_cents,
      amount_subtotal_cents, amount_discount_cents, amount_tax_cents, amount_shipping_cents, amount_fee_cents,
      amount_total_cents, amount_eligible_cents, eligibility_class, eligibility_rule, eligibility_rule_version, rationale,
      recurring_interval, recurring_interval_count, recurring_trial_days)
   select $1, $2, l.* from json_to_recordset($4::json) as l (
     "sessionId" text, id text, position smallint, "priceId" text, "productId" text, description text, quantity bigint,
     "unitAmountCents" bigint, "amountSubtotalCents" bigint, "amountDiscountCents" bigint, "amountTaxCents" bigint,
     "amountShippingCents" bigint, "amountFeeCents" bigint, "amountTotalCents" bigint, "amountEligibleCents" bigint,
     "eligibilityClass" text, "eligibilityRule" text, "eligibilityRuleVersion" text, rationale text,
     "recurringInterval" text, "recurringIntervalCount" integer, "recurringTrialDays" integer) ${where}`;

const intoRecords = (where = '') => `insert into checkout.eligibility_records
     (account_id, test_mode, id, session_id, eligible_cents, food_policy, policy_version, created_at)
   select $1, $2, r.* from json_to_recordset($5::json) as r (
     id text, "sessionId" text, "eligibleCents" bigint, "foodPolicy" boolean, "policyVersion" text, "createdAt" timestamptz) ${where}`;

const intoFees = (where = '') => `insert into checkout.session_fees
     (account_id, test_mode, session_id, position, id, amount_cents, name, description, fee_type, applied, waived_reason)
   select $1, $2, f.* from json_to_recordset($6::json) as f (
     "sessionId" text, position smallint, id text, "amountCents" bigint, name text, description text, "feeType" text,
     applied boolean, "waivedReason" text) ${where}`;

const inserts = {
  sessions: scoped<never>('sessions.insert', intoSessions()),
  with_lines: scoped<never>(
    'sessions.insert_with_lines',
    `with session as (${intoSessions()}), lines as (${intoLines()}) ${intoRecords()}`,
  ),
  with_fees: scoped<never>(
    'sessions.insert_with_fees',
    `with session as (${intoSessions()}), lines as (${intoLines()}), record as (${intoRecords()}) ${intoFees()}`,
  ),
} satisfies Record<Parts, unknown>;

// The keys decide: a session whose key is taken is left out with its parts. In the order of the keys, so that two groups wait for each other in one direction.
function keyedInsert(name: string, count: number) {
  const ofTaken = (column: string) => `where ${column} in (select session_id from taken)`;
  const parts = [
    `session as (${intoSessions(ofTaken('s.id'))})`,
    `lines as (${intoLines(ofTaken('l."sessionId"'))})`,
    `record as (${intoRecords(ofTaken('r."sessionId"'))})`,
    `fees as (${intoFees(ofTaken('f."sessionId"'))})`,
  ];
  return scoped<{ session_id: string }>(
    name,
    `with taken as (
       insert into checkout.session_keys (account_id, test_mode, key, request_hash, session_id)
       select $1, $2, k.key, decode(k.request_hash, 'hex'), k.session_id
         from json_to_recordset($${count + 3}::json) as k (key text, request_hash text, session_id text)
        order by k.key limit ${maxGroupSize}
       on conflict (account_id, test_mode, key) do nothing
       returning session_id
     ), ${parts.slice(0, count).join(', ')}
     select session_id from taken`,
  );
}

const keyedInserts = {
  sessions: keyedInsert('sessions.insert_keyed', 1),
  with_lines: keyedInsert('sessions.insert_keyed_with_lines', 3),
  with_fees: keyedInsert('sessions.insert_keyed_with_fees', 4),
} satisfies Record<Parts, unknown>;

const insertDiscounts = scoped<never>(
  'session_discounts.insert',
  `insert into checkout.session_discounts
     (account_id, test_mode, session_id, position, id, coupon_id, promo_code_id, coupon, amount_cents)
   select $1, $2, $3, d.position - 1, d.id, d."couponId", d."promoCodeId", d.coupon, d."amountCents"
   from rows from (json_to_recordset($4::json) as (
     id text, "couponId" text, "promoCodeId" text, coupon jsonb, "amountCents" bigint))
     with ordinality d (id, "couponId", "promoCodeId", coupon, "amountCents", position)`,
);

const insertLetters = scoped<never>(
  'session_existing_letters.insert',
  `insert into checkout.session_existing_letters (account_id, test_mode, session_id, product_id, letter_id)
   select $1, $2, $3, e.* from unnest($4::text[], $5::text[]) as e (product_id, letter_id)`,
);

const insertPlans = scoped<never>(
  'session_selling_plans.insert',
  `insert into checkout.session_selling_plans (account_id, test_mode, selling_plan_id, session_id)
   select $1, $2, plan, $3 from unnest($4::text[]) as plan`,
);
