import { type Db, type Scope, scoped, type Tx } from '@eligo/postgres';
import { type Cents, centsFromInt64 } from '@eligo/values';
import type { SessionLine } from '../domain/session.ts';

/** All lines of a session, in the cart's order. A session has at most 100 (decisions 10). */
export async function loadSessionLines(db: Db, scope: Scope, sessionId: string): Promise<SessionLine[]> {
  return (await db.rows(selectAll, scope, [sessionId])).map(lineOfRow);
}

/** All lines of several sessions, each in its cart's order. */
export async function loadLinesOfSessions(db: Db, scope: Scope, sessionIds: readonly string[]): Promise<SessionLine[]> {
  return (await db.rows(selectOfSeveral, scope, [sessionIds])).map(lineOfRow);
}

/** Notes what of a session's letter fee is given back, at the lines that the fee is a part of. The caller holds the session's row. */
export async function noteLetterFeeGivenBack(
  tx: Tx,
  scope: Scope,
  sessionId: string,
  ofLines: readonly { readonly lineId: string; readonly amountCents: Cents }[],
): Promise<void> {
  const ids = ofLines.map(({ lineId }) => lineId);
  const amounts = ofLines.map(({ amountCents }) => amountCents);
  await tx.execute(noteGivenBack, scope, [sessionId, ids, amounts]);
}

/** Ends what is to be given back of the letter fees of sessions: the shop keeps what is not refunded of them. The caller holds the sessions' rows. */
export async function keepRestOfLetterFees(tx: Tx, scope: Scope, sessionIds: readonly string[]): Promise<void> {
  await tx.execute(keepRest, scope, [sessionIds]);
}

interface LineRow {
  readonly id: string;
  readonly session_id: string;
  readonly position: number;
  readonly price_id: string;
  readonly product_id: string;
  readonly description: string | null;
  readonly quantity: bigint;
  readonly unit_amount_cents: bigint;
  readonly amount_subtotal_cents: bigint;
  readonly amount_discount_cents: bigint;
  readonly amount_tax_cents: bigint;
  readonly amount_shipping_cents: bigint;
  readonly amount_fee_cents: bigint;
  readonly amount_total_cents: bigint;
  readonly amount_eligible_cents: bigint;
  readonly eligibility_class: string | null;
  readonly eligibility_rule: string;
  readonly eligibility_rule_version: string;
  readonly rationale: string;
  readonly recurring_interval: string | null;
  readonly recurring_interval_count: number | null;
  readonly recurring_trial_days: number | null;
  readonly amount_captured_cents: bigint;
  readonly amount_refunded_cents: bigint;
  readonly letter_fee_given_back_cents: bigint;
  readonly letter_fee_refunded_cents: bigint;
  readonly payment_intent_id: string | null;
}

const columns = `l.id, l.session_id, l.position, l.price_id, l.product_id, l.description, l.quantity, l.unit_amount_cents,
     l.amount_subtotal_cents, l.amount_discount_cents, l.amount_tax_cents, l.amount_shipping_cents, l.amount_fee_cents,
     l.amount_total_cents, l.amount_eligible_cents, l.eligibility_class, l.eligibility_rule, l.eligibility_rule_version,
     l.rationale, l.recurring_interval, l.recurring_interval_count, l.recurring_trial_days, l.amount_captured_cents,
     l.amount_refunded_cents, l.letter_fee_given_back_cents, l.letter_fee_refunded_cents, l.payment_intent_id`;

const selectAll = scoped<LineRow>(
  'session_lines.load',
  `select ${columns} from checkout.session_lines l
   where l.account_id = $1 and l.test_mode = $2 and l.session_id = $3
   order by l.position`,
);

const selectOfSeveral = scoped<LineRow>(
  'session_lines.load_several',
  `select ${columns} from checkout.session_lines l
   where l.account_id = $1 and l.test_mode = $2 and l.session_id = any($3::text[])
   order by l.session_id, l.position`,
);

const noteGivenBack = scoped(
  'session_lines.note_letter_fee_given_back',
  `update checkout.session_lines l set letter_fee_given_back_cents = fee.amount
   from unnest($4::text[], $5::bigint[]) fee (id, amount)
   where l.account_id = $1 and l.test_mode = $2 and l.session_id = $3 and l.id = fee.id`,
);

const keepRest = scoped(
  'session_lines.keep_rest_of_letter_fees',
  `update checkout.session_lines l set letter_fee_given_back_cents = l.letter_fee_refunded_cents
   where l.account_id = $1 and l.test_mode = $2 and l.session_id = any($3::text[])
     and l.letter_fee_given_back_cents > l.letter_fee_refunded_cents`,
);

function lineOfRow(row: LineRow): SessionLine {
  return {
    id: row.id,
    sessionId: row.session_id,
    position: row.position,
    priceId: row.price_id,
    productId: row.product_id,
    description: row.description,
    quantity: Number(row.quantity),
    unitAmountCents: centsFromInt64(row.unit_amount_cents),
    amountSubtotalCents: centsFromInt64(row.amount_subtotal_cents),
    amountDiscountCents: centsFromInt64(row.amount_discount_cents),
    amountTaxCents: centsFromInt64(row.amount_tax_cents),
    amountShippingCents: centsFromInt64(row.amount_shipping_cents),
    amountFeeCents: centsFromInt64(row.amount_fee_cents),
    amountTotalCents: centsFromInt64(row.amount_total_cents),
    amountEligibleCents: centsFromInt64(row.amount_eligible_cents),
    eligibilityClass: row.eligibility_class,
    eligibilityRule: row.eligibility_rule,
    eligibilityRuleVersion: row.eligibility_rule_version,
    rationale: row.rationale,
    recurring:
      row.recurring_interval === null || row.recurring_interval_count === null
        ? null
        : {
            interval: row.recurring_interval,
            intervalCount: row.recurring_interval_count,
            trialDays: row.recurring_trial_days,
          },
    amountCapturedCents: centsFromInt64(row.amount_captured_cents),
    amountRefundedCents: centsFromInt64(row.amount_refunded_cents),
    letterFeeGivenBackCents: centsFromInt64(row.letter_fee_given_back_cents),
    letterFeeRefundedCents: centsFromInt64(row.letter_fee_refunded_cents),
    paymentIntentId: row.payment_intent_id,
  };
}
