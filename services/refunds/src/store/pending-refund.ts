import { type NewEvent, outboxInsert, outboxValues } from '@eligo/events';
import {
  afterKeyLock,
  keyOfAttemptFinish,
  keyOfAttemptLock,
  leaseFromNow,
  type Scope,
  type StoredAnswer,
  scoped,
  type Tx,
} from '@eligo/postgres';
import { newId } from '@eligo/values';
import { ledgerSides } from '../domain/ledger.ts';
import type { Refund, RefundItem } from '../domain/refund.ts';

/** All that a refund becomes when checkout has reserved it. */
export interface PendingWrite {
  readonly refund: Refund;
  /** One for each item, in their order: the id of its first attempt. */
  readonly attemptIds: readonly string[];
  readonly leaseMs: number;
  /** For the key under which it was asked for, if there is one. */
  readonly answer: StoredAnswer;
  readonly events: readonly NewEvent[];
}

/**
 * Makes a requested refund pending in one statement: its parts, an attempt for each that its lease allows to send at once, the movements, the
 * events and the answer under its key. Undefined, and nothing is written, when it is no longer requested; else the database's time.
 */
export async function writePending(tx: Tx, scope: Scope, pending: PendingWrite): Promise<Date | undefined> {
  const { refund, attemptIds, leaseMs, answer, events } = pending;
  const { items } = refund;
  const of = <Field extends keyof RefundItem>(field: Field) => items.map((item) => item[field]);
  const row = await tx.row(write, scope, [
    refund.refundId,
    refund.amountCents,
    refund.paymentIntentId,
    refund.checkoutSessionId,
    refund.customerId,
    refund.subscriptionId,
    refund.invoiceId,
    refund.balanceTransactionId,
    refund.createdAt,
    of('paymentIntentId'),
    of('paymentMethodId'),
    of('chargeId'),
    of('processorIntentId'),
    of('amountCents'),
    attemptIds,
    leaseMs,
    items.map(() => newId('ledger_transaction')),
    ledgerSides.refund_pending.debit,
    ledgerSides.refund_pending.credit,
    answer.status,
    answer.body,
    ...outboxValues(events),
  ]);
  return row?.now;
}

// Locked in this order everywhere: the key, the refund (docs/reliability.md 4.2). The attempts are written as sent: whoever writes them sends
// them under this lease, so that no fence of its own is needed.
const write = scoped<{ now: Date }>(
  'refunds.write_pending',
  `with ${keyOfAttemptLock('$3')}, refund as (
     update refunds.refunds
        set status = 'pending', amount_cents = $4, payment_intent_id = $5, checkout_session_id = $6, customer_id = $7,
            subscription_id = $8, invoice_id = $9, balance_transaction_id = $10, created_at = $11,
            lease_until = null, next_check_at = null
      where account_id = $1 and test_mode = $2 and id = $3 and status = 'requested' and ${afterKeyLock}
     returning id
   ), items as (
     insert into refunds.refund_items (account_id, test_mode, refund_id, payment_intent_id, position, payment_method_id,
       charge_id, processor_intent_id, amount_cents, status)
     select $1, $2, refund.id, part.payment_intent_id, part.position - 1, part.payment_method_id, part.charge_id,
            part.processor_intent_id, part.amount_cents, 'pending'
       from refund, unnest($12::text[], $13::text[], $14::text[], $15::text[], $16::bigint[]) with ordinality
         as part (payment_intent_id, payment_method_id, charge_id, processor_intent_id, amount_cents, position)
   ), attempts as (
     insert into refunds.refund_attempts (account_id, test_mode, id, refund_id, payment_intent_id, processor_intent_id,
       amount_cents, status, sends, first_sent_at, sent_at, lease_until, next_check_at)
     select $1, $2, part.id, refund.id, part.payment_intent_id, part.processor_intent_id, part.amount_cents, 'sending', 1,
            clock_timestamp(), clock_timestamp(), ${leaseFromNow('$18::bigint')}, ${leaseFromNow('$18::bigint')}
       from refund, unnest($17::text[], $12::text[], $15::text[], $16::bigint[])
         as part (id, payment_intent_id, processor_intent_id, amount_cents)
   ), entries as (
     insert into refunds.ledger_entries (account_id, test_mode, transaction_id, ledger_account, credit_account, amount_cents, kind,
       refund_id, payment_intent_id, created_at)
     select $1, $2, e.id, $20, $21, e.amount_cents, 'refund_pending', refund.id, e.payment_intent_id, $11
       from refund, unnest($19::text[], $16::bigint[], $12::text[]) as e (id, amount_cents, payment_intent_id)
   ), balance as (
     insert into refunds.balance_transactions (account_id, test_mode, id, type, amount_cents, status, source_id,
       checkout_session_id, reporting_category, available_on, created_at)
     select $1, $2, $10, 'refund', - $4::bigint, 'pending', refund.id, $6, 'refund', $11, $11 from refund
   ), answered as (${keyOfAttemptFinish('$3', '$22', '$23', 'refund')}), told as (${outboxInsert(24, 'refund')})
   select clock_timestamp() as now from refund`,
);
