import { type Scope, type StoredAnswer, scoped, type Tx } from '@eligo/postgres';
import type { ChargeAttempt } from '../domain/charge-attempt.ts';
import type { PaymentIntent } from '../domain/payment-intent.ts';
import type { Session } from '../domain/session.ts';
import { sessionStates } from '../domain/session-states.ts';
import type { ReportedCharge } from './payment-intents.ts';
import type { PaidLines } from './session-payments.ts';

/** All that a confirm that charged changes, from the session as it was read to the records as they shall be. */
export interface ConfirmedCharge {
  readonly before: Session;
  readonly after: Session;
  readonly attempt: ChargeAttempt;
  readonly intent: PaymentIntent;
  readonly charge: ReportedCharge;
  /** The id of the ledger's entry for a capture; null for a hold, which moves no money yet. */
  readonly ledgerEntryId: string | null;
  readonly lines: PaidLines;
  /** What the request's key answers with from now on. */
  readonly answer: StoredAnswer;
}

// One statement: each statement that is sent costs a message, a plan's start and its triggers' start. The session comes first and all else depends
// on it, so that rows are locked in the order that every writer keeps: session, then its parts. The sums are of amounts that never change.
const settle = scoped<{ sessions: bigint; attempts: bigint; intents: bigint }>(
  'checkout.settle_confirmed',
  `with sums as (
     select coalesce(sum(amount_tax_cents), 0)::bigint as tax, coalesce(sum(amount_shipping_cents), 0)::bigint as shipping,
       coalesce(sum(amount_discount_cents), 0)::bigint as discount
     from checkout.session_lines
     where account_id = $1 and test_mode = $2 and session_id = $3 and amount_captured_cents = 0 and amount_total_cents > 0
       and $16::text is not null and ($17::text = 'all' or ($17::text = 'eligible') = (amount_eligible_cents > 0))
   ), session as (
     update checkout.sessions s set status = $6, amount_received_cents = $7, payment_intent_ids = $8, next_action = $9,
       completed_at = $10, captured_tax_cents = s.captured_tax_cents + sums.tax,
       captured_shipping_cents = s.captured_shipping_cents + sums.shipping,
       captured_discount_cents = s.captured_discount_cents + sums.discount, version = s.version + 1
     from sums
     where s.account_id = $1 and s.test_mode = $2 and s.id = $3 and s.version = $4 and s.status = $5
     returning s.id
   ), attempt as (
     update checkout.charge_attempts a set status = 'succeeded'
     from session
     where a.account_id = $1 and a.test_mode = $2 and a.id = $11 and a.status in ('sending', 'unknown')
     returning a.id
   ), intent as (
     update checkout.payment_intents i set status = case when $16::text is null then 'requires_capture' else 'succeeded' end,
       amount_received_cents = case when $16::text is null then 0 else i.amount_cents end,
       amount_capturable_cents = case when $16::text is null then i.amount_cents else 0 end,
       latest_charge_id = $13, processor_intent_id = $15
     from attempt
     where i.account_id = $1 and i.test_mode = $2 and i.id = $12
     returning i.id, i.amount_cents, i.amount_received_cents, i.payment_method_id
   ), charge as (
     insert into checkout.charges (account_id, test_mode, id, payment_intent_id, payment_method_id, status, amount_cents,
       amount_captured_cents, processor_charge_id, created_at)
     select $1, $2, $13, i.id, i.payment_method_id, 'succeeded', i.amount_cents, i.amount_received_cents, $14::text, $18::timestamptz
     from intent i
   ), entry as (
     insert into checkout.ledger_entries (account_id, test_mode, id, debit_account, credit_account, amount_cents, kind,
       payment_intent_id, source_id, created_at)
     select $1, $2, $16::text, 'processor_balance', 'customer_receipts', i.amount_cents, 'capture', i.id, $13, $18::timestamptz
     from intent i where $16::text is not null
   ), lines as (
     update checkout.session_lines l set amount_captured_cents = l.amount_total_cents, payment_intent_id = $12
     from session
     where l.account_id = $1 and l.test_mode = $2 and l.session_id = $3 and l.amount_captured_cents = 0
       and l.amount_total_cents > 0 and $16::text is not null
       and ($17::text = 'all' or ($17::text = 'eligible') = (l.amount_eligible_cents > 0))
   ), record as (
     update checkout.eligibility_records r set charged_attempt_id = $11
     from session where r.account_id = $1 and r.test_mode = $2 and r.session_id = $3
   ), held as (
     select k.kind, k.id from checkout.payment_locks k, attempt
     where k.account_id = $1 and k.test_mode = $2 and k.attempt_id = $11 order by k.kind, k.id for update of k
   ), locks as (
     delete from checkout.payment_locks k using held
     where k.account_id = $1 and k.test_mode = $2 and k.kind = held.kind and k.id = held.id
   ), key as (
     update idempotency_keys k set state = 'finished', finished_at = clock_timestamp(), status = $19, body = $20
     from attempt
     where k.account_id = $1 and k.test_mode = $2 and k.attempt_id = $11 and k.state = 'in_progress'
   )
   select (select count(*) from session) as sessions, (select count(*) from attempt) as attempts,
     (select count(*) from intent) as intents`,
);

/**
 * Writes what a confirm that charged changes, with one statement. False when the session was changed since it was read, or when the attempt is
 * settled already: the caller then rolls back and settles from the rows as they are.
 */
export async function settleConfirmed(tx: Tx, scope: Scope, settled: ConfirmedCharge): Promise<boolean> {
  const { before, after, attempt, intent, charge, answer } = settled;
  sessionStates.assertMove(before.status, after.status);
  const row = await tx.row(settle, scope, [
    before.id,
    before.version,
    before.status,
    after.status,
    after.amountReceivedCents,
    after.paymentIntentIds,
    after.nextAction,
    after.completedAt,
    attempt.id,
    intent.id,
    charge.chargeId,
    charge.processorChargeId,
    attempt.processorIntentId,
    settled.ledgerEntryId,
    settled.lines,
    charge.at,
    answer.status,
    answer.body,
  ]);
  return row?.sessions === 1n && row.attempts === 1n && row.intents === 1n;
}
