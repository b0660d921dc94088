import { maxGroupSize, type Scope, type StoredAnswer, scoped, type Tx } from '@eligo/postgres';
import { wakeJobAfterCommit } from '@eligo/service';
import type { ChargeAttempt } from '../domain/charge-attempt.ts';
import type { PaidLines } from '../domain/paid-lines.ts';
import type { Session } from '../domain/session.ts';
import { sessionStates } from '../domain/session-states.ts';
import { tellJournalAfterMs, tellJournalJob } from './journal.ts';
import { answerColumns, answerText, withAnswers } from './key-answers.ts';
import { unlockText } from './payment-locks.ts';
import { donePlanText, ownPlanText, type PaymentPlan } from './payment-plans.ts';
import { type ReceivedCharge, receivedColumns, receivedRow, receivedText } from './received-charges.ts';

/** All that a charge of a whole payment changes, from the session as it was read to the records as they shall be. */
export interface ConfirmedCharge extends ReceivedCharge {
  readonly before: Session;
  readonly after: Session;
  readonly attempt: ChargeAttempt;
  readonly lines: PaidLines;
  /** What the request's key answers with from now on; undefined for a payment on the page. */
  readonly answer: StoredAnswer | undefined;
  /** The plan that the charge ends, of a payment on the page. */
  readonly plan: Pick<PaymentPlan, 'id' | 'epoch'> | undefined;
}

// One statement for all charges of a group: each statement that is sent costs a message, a plan's start and its triggers' start. The sessions come
// first and all else depends on them, so that rows are locked in the order that every writer keeps: session, then its parts. The sums are of
// amounts that never change. The limit is the group's own; without it the planner expects a hundred rows of JSON.
const settleText = (name: string, { columns, parts, counted }: { columns: string; parts: string; counted: string }) =>
  scoped<{ sessions: bigint; attempts: bigint; intents: bigint; plans: bigint }>(
    name,
    `with charged as materialized (
     select c.* from json_to_recordset($3::json) as c (
       session_id text, version bigint, status_before text, status text, received bigint, intent_ids text[], next_action jsonb,
       completed_at timestamptz, leg text, lines text, ${receivedColumns}, ${columns})
     limit ${maxGroupSize}
   ), sums as (
     select c.session_id, coalesce(sum(l.amount_tax_cents), 0)::bigint as tax,
       coalesce(sum(l.amount_shipping_cents), 0)::bigint as shipping, coalesce(sum(l.amount_discount_cents), 0)::bigint as discount
     from charged c left join checkout.session_lines l
       on l.account_id = $1 and l.test_mode = $2 and l.session_id = c.session_id and l.amount_captured_cents = 0
         and l.amount_total_cents > 0
         and (c.lines = 'all' or (c.lines = 'eligible') = (l.amount_eligible_cents > 0))
     group by c.session_id
   ), session as (
     update checkout.sessions s set status = c.status, amount_received_cents = c.received, payment_intent_ids = c.intent_ids,
       next_action = c.next_action, completed_at = c.completed_at, captured_tax_cents = s.captured_tax_cents + sums.tax,
       captured_shipping_cents = s.captured_shipping_cents + sums.shipping,
       captured_discount_cents = s.captured_discount_cents + sums.discount, version = s.version + 1
     from charged c join sums using (session_id)
     where s.account_id = $1 and s.test_mode = $2 and s.id = c.session_id and s.version = c.version and s.status = c.status_before
     returning c.*
   ), attempt as (
     update checkout.charge_attempts a set status = 'succeeded'
     from session c
     where a.account_id = $1 and a.test_mode = $2 and a.id = c.attempt_id and a.status in ('sending', 'unknown')
     returning c.*
   ), ${receivedText}, lines as (
     update checkout.session_lines l set amount_captured_cents = l.amount_total_cents, payment_intent_id = c.intent_id
     from session c
     where l.account_id = $1 and l.test_mode = $2 and l.session_id = c.session_id and l.amount_captured_cents = 0
       and l.amount_total_cents > 0
       and (c.lines = 'all' or (c.lines = 'eligible') = (l.amount_eligible_cents > 0))
   ), record as (
     update checkout.eligibility_records r set charged_attempt_id = c.attempt_id
     from session c where r.account_id = $1 and r.test_mode = $2 and r.session_id = c.session_id and c.leg = 'health'
   ), ${parts}
   select (select count(*) from session) as sessions, (select count(*) from attempt) as attempts,
     (select count(*) from intent) as intents, ${counted} as plans`,
  );
const settle = settleText('checkout.settle_confirmed', {
  columns: answerColumns,
  parts: `${unlockText('c.attempt_id', 'attempt c')}, ${answerText('c.attempt_id', 'attempt c')}`,
  counted: '0::bigint',
});
// A page's cards are locked for its plan, and no key waits for the answer.
const settlePaid = settleText('checkout.settle_paid_on_page', {
  columns: 'plan_id text, plan_epoch integer',
  parts: `${unlockText('c.plan_id', 'attempt c')}, ${donePlanText('attempt c')}`,
  counted: '(select count(*) from plan)',
});

// The plan goes on with the hold of the other card, and keeps its locks.
const settleSecond = settleText('checkout.settle_second_on_page', {
  columns: 'plan_id text, plan_epoch integer',
  parts: ownPlanText('tries = 0', 'attempt c'),
  counted: '(select count(*) from plan)',
});

/**
 * Writes what some confirms that charged change, at most 16, with one statement. False when a session was changed since it was read, or when an
 * attempt is settled already: the caller then rolls back and settles from the rows as they are.
 */
export async function settleConfirmed(tx: Tx, scope: Scope, charges: readonly ConfirmedCharge[]): Promise<boolean> {
  wakeJobAfterCommit(tx, tellJournalJob, tellJournalAfterMs);
  const written = await tx.row(settle, scope, withAnswers(charges, rowOf));
  return isWhole(written, charges);
}

/** The same for payments on the page that one charge completes: each ends its plan. False also when another process works on a plan by now. */
export function settlePaidOnPage(tx: Tx, scope: Scope, charges: readonly ConfirmedCharge[]): Promise<boolean> {
  return settleOfPlans(settlePaid, tx, scope, charges);
}

/** The same for the second cards of payments whose first card is held: each plan goes on, and so does its session. */
export function settleSecondOnPage(tx: Tx, scope: Scope, charges: readonly ConfirmedCharge[]): Promise<boolean> {
  return settleOfPlans(settleSecond, tx, scope, charges);
}

async function settleOfPlans(
  statement: typeof settlePaid,
  tx: Tx,
  scope: Scope,
  charges: readonly ConfirmedCharge[],
): Promise<boolean> {
  const rows = charges.map((charge) => ({
    ...rowOf(charge),
    ...{ plan_id: charge.plan?.id, plan_epoch: charge.plan?.epoch },
  }));
  wakeJobAfterCommit(tx, tellJournalJob, tellJournalAfterMs);
  const written = await tx.row(statement, scope, [JSON.stringify(rows)]);
  return isWhole(written, charges) && written?.plans === BigInt(charges.length);
}

function isWhole(
  written: { readonly sessions: bigint; readonly attempts: bigint; readonly intents: bigint } | undefined,
  { length }: readonly ConfirmedCharge[],
): boolean {
  const wanted = BigInt(length);
  return written?.sessions === wanted && written.attempts === wanted && written.intents === wanted;
}

// Under the names of the statement's columns.
function rowOf(charge: ConfirmedCharge) {
  const { before, after, attempt, lines } = charge;
  if (before.status !== after.status) sessionStates.assertMove(before.status, after.status);
  return {
    session_id: before.id,
    version: String(before.version),
    status_before: before.status,
    status: after.status,
    received: after.amountReceivedCents,
    intent_ids: after.paymentIntentIds,
    next_action: after.nextAction,
    completed_at: after.completedAt,
    leg: attempt.leg,
    lines,
    ...receivedRow(charge),
  };
}
