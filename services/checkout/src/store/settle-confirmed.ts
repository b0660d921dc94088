import {
  joinedBytes,
  keyOfAttemptFinish,
  maxGroupSize,
  type Scope,
  type StoredAnswer,
  scoped,
  type Tx,
} from '@eligo/postgres';
import { wakeJobAfterCommit } from '@eligo/service';
import { balanceTransactionOf } from '../domain/balance-transaction.ts';
import type { ChargeAttempt } from '../domain/charge-attempt.ts';
import type { PaidLines } from '../domain/paid-lines.ts';
import type { PaymentIntent } from '../domain/payment-intent.ts';
import type { Session } from '../domain/session.ts';
import { sessionStates } from '../domain/session-states.ts';
import { tellJournalAfterMs, tellJournalJob } from './journal.ts';
import type { ReportedCharge } from './payment-intents.ts';
import { unlockText } from './payment-locks.ts';
import type { PaymentPlan } from './payment-plans.ts';

/** All that a charge of a whole payment changes, from the session as it was read to the records as they shall be. */
export interface ConfirmedCharge {
  readonly before: Session;
  readonly after: Session;
  readonly attempt: ChargeAttempt;
  readonly intent: PaymentIntent;
  readonly charge: ReportedCharge;
  /** The id of the ledger's entry for the capture. */
  readonly ledgerEntryId: string;
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
       completed_at timestamptz, attempt_id text, intent_id text, charge_id text, processor_charge_id text, leg text,
       balance_transaction_id text, processor_intent_id text, entry_id text, lines text, at timestamptz, ${columns})
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
   ), intent as (
     update checkout.payment_intents i set status = 'succeeded', amount_received_cents = i.amount_cents,
       amount_capturable_cents = 0, latest_charge_id = c.charge_id, processor_intent_id = c.processor_intent_id
     from attempt c
     where i.account_id = $1 and i.test_mode = $2 and i.id = c.intent_id
     returning i.id, i.amount_cents, i.amount_received_cents, i.payment_method_id, c.charge_id, c.processor_charge_id,
       c.balance_transaction_id, c.entry_id, c.at
   ), charge as (
     insert into checkout.charges (account_id, test_mode, id, payment_intent_id, payment_method_id, status, amount_cents,
       amount_captured_cents, processor_charge_id, created_at, balance_transaction_id)
     select $1, $2, i.charge_id, i.id, i.payment_method_id, 'succeeded', i.amount_cents, i.amount_received_cents,
       i.processor_charge_id, i.at, i.balance_transaction_id
     from intent i
   ), entry as (
     insert into checkout.ledger_entries (account_id, test_mode, id, debit_account, credit_account, amount_cents, kind,
       payment_intent_id, source_id, created_at)
     select $1, $2, i.entry_id, 'processor_balance', 'customer_receipts', i.amount_cents, 'capture', i.id, i.charge_id, i.at
     from intent i
   ), lines as (
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
  columns: 'answer_status integer, answer_start integer, answer_bytes integer',
  parts: `${unlockText('c.attempt_id', 'attempt c')}, key as (
     ${keyOfAttemptFinish('c.attempt_id', 'c.answer_status', 'substring($4::bytea from c.answer_start for c.answer_bytes)', 'attempt c')}
   )`,
  counted: '0::bigint',
});
// A page's cards are locked for its plan, and no key waits for the answer.
const settlePaid = settleText('checkout.settle_paid_on_page', {
  columns: 'plan_id text, plan_epoch integer',
  parts: `${unlockText('c.plan_id', 'attempt c')}, plan as (
     update checkout.payment_plans p set state = 'done', lease_until = now(), next_check_at = now()
     from attempt c
     where p.account_id = $1 and p.test_mode = $2 and p.session_id = c.session_id and p.id = c.plan_id and p.epoch = c.plan_epoch
       and p.state = 'running'
     returning p.id
   )`,
  counted: '(select count(*) from plan)',
});

// The plan goes on with the hold of the other card, and keeps its locks.
const settleSecond = settleText('checkout.settle_second_on_page', {
  columns: 'plan_id text, plan_epoch integer',
  parts: `plan as (
     update checkout.payment_plans p set tries = 0, next_check_at = now()
     from attempt c
     where p.account_id = $1 and p.test_mode = $2 and p.session_id = c.session_id and p.id = c.plan_id and p.epoch = c.plan_epoch
       and p.state = 'running'
     returning p.id
   )`,
  counted: '(select count(*) from plan)',
});

/**
 * Writes what some confirms that charged change, at most 16, with one statement. False when a session was changed since it was read, or when an
 * attempt is settled already: the caller then rolls back and settles from the rows as they are.
 */
export async function settleConfirmed(tx: Tx, scope: Scope, charges: readonly ConfirmedCharge[]): Promise<boolean> {
  const answers = joinedBytes(charges.map(({ answer }) => required(answer).body));
  const rows = charges.map((charge, at) => {
    const { status, body } = required(charge.answer);
    return {
      ...rowOf(charge),
      ...{ answer_status: status, answer_start: answers.starts[at], answer_bytes: body.length },
    };
  });
  wakeJobAfterCommit(tx, tellJournalJob, tellJournalAfterMs);
  const written = await tx.row(settle, scope, [JSON.stringify(rows), answers.bytes]);
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

function required(answer: StoredAnswer | undefined): StoredAnswer {
  if (answer === undefined) throw new Error('A confirm has no answer for its key');
  return answer;
}

// Under the names of the statement's columns. The answers are one binary value and are cut apart there.
function rowOf({ before, after, attempt, intent, charge, ...rest }: ConfirmedCharge) {
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
    attempt_id: attempt.id,
    intent_id: intent.id,
    charge_id: charge.chargeId,
    processor_charge_id: charge.processorChargeId,
    leg: attempt.leg,
    balance_transaction_id: balanceTransactionOf(charge.chargeId),
    processor_intent_id: attempt.processorIntentId,
    entry_id: rest.ledgerEntryId,
    lines: rest.lines,
    at: charge.at,
  };
}
