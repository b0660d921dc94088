import { type EncodedEvent, encodedOutboxValues, outboxInsert } from '@eligo/events';
import {
  afterKeyLock,
  joinedBytes,
  keyOfAttemptFinish,
  keysOfAttemptsLock,
  leaseFromNow,
  type Scope,
  type StoredAnswer,
  scoped,
  type Tx,
} from '@eligo/postgres';
import { wakeJobAfterCommit } from '@eligo/service';
import { newId } from '@eligo/values';
import { ledgerSides } from '../domain/ledger.ts';
import type { Refund } from '../domain/refund.ts';
import { postEntriesAfterMs, postEntriesJob } from './journal-entries.ts';
import { jsonOfCaptures } from './refund-items.ts';

/** All that a refund becomes when checkout has reserved it. */
export interface PendingWrite {
  readonly refund: Refund;
  /** One for each item, in their order: the id of its first attempt. */
  readonly attemptIds: readonly string[];
  /** For the key under which it was asked for, if there is one. */
  readonly answer: StoredAnswer;
  readonly events: readonly EncodedEvent[];
}

/**
 * Makes requested refunds pending in one statement: their parts, an attempt for each that its lease allows to send at once, the movements, the
 * events and the answers under their keys. Answers the database's time for each refund, by its id; of one that is no longer requested nothing is
 * written, and it is left out.
 */
export async function writePending(
  tx: Tx,
  scope: Scope,
  pending: readonly PendingWrite[],
  leaseMs: number,
): Promise<ReadonlyMap<string, Date>> {
  // Everybody locks refunds in the order of their ids.
  const ordered = pending.toSorted((one, other) => (one.refund.refundId < other.refund.refundId ? -1 : 1));
  const items = ordered.flatMap(({ refund, attemptIds }) =>
    refund.items.map((item, at) => ({ item, at, refund, attemptId: attemptIds[at] })),
  );
  const answers = joinedBytes(ordered.map(({ answer }) => answer.body));
  wakeJobAfterCommit(tx, postEntriesJob, postEntriesAfterMs);
  const rows = await tx.rows(write, scope, [
    ordered.map(({ refund }) => refund.refundId),
    ordered.map(({ refund }) => refund.amountCents),
    ordered.map(({ refund }) => refund.paymentIntentId),
    ordered.map(({ refund }) => refund.checkoutSessionId),
    ordered.map(({ refund }) => refund.customerId),
    ordered.map(({ refund }) => refund.subscriptionId),
    ordered.map(({ refund }) => refund.invoiceId),
    ordered.map(({ refund }) => refund.balanceTransactionId),
    ordered.map(({ refund }) => refund.createdAt),
    items.map(({ refund }) => refund.refundId),
    items.map(({ at }) => at),
    items.map(({ item }) => item.paymentIntentId),
    items.map(({ item }) => item.paymentMethodId),
    items.map(({ item }) => item.chargeId),
    items.map(({ item }) => item.processorIntentId),
    items.map(({ item }) => item.amountCents),
    items.map(({ item }) => item.processorAccount?.processor ?? null),
    items.map(({ item }) => item.processorAccount?.account ?? null),
    items.map(({ attemptId }) => attemptId),
    leaseMs,
    items.map(() => newId('ledger_transaction')),
    ledgerSides.refund_pending.debit,
    ledgerSides.refund_pending.credit,
    ordered.map(({ answer }) => answer.status),
    answers.starts,
    answers.lengths,
    answers.bytes,
    items.map(({ item }) => item.balanceTransactionId),
    items.map(({ item }) => jsonOfCaptures(item.captures)),
    ...encodedOutboxValues(ordered.flatMap(({ events }) => events)),
  ]);
  return new Map(rows.map(({ id, now }) => [id, now]));
}

// Locked in this order everywhere: the keys, the refunds (docs/reliability.md, Refunds). The attempts are written as sent: whoever writes them sends
// them under this lease, so that no fence of its own is needed.
const write = scoped<{ id: string; now: Date }>(
  'refunds.write_pending',
  `with ${keysOfAttemptsLock('$3')}, refund as (
     update refunds.refunds r
        set status = 'pending', amount_cents = w.amount_cents, payment_intent_id = w.payment_intent_id, checkout_session_id = w.session_id,
            customer_id = w.customer_id, subscription_id = w.subscription_id, invoice_id = w.invoice_id,
            balance_transaction_id = w.balance_transaction_id, created_at = w.created_at, lease_until = null, next_check_at = null
       from unnest($3::text[], $4::bigint[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[], $10::text[], $11::timestamptz[],
              $26::int[], $27::int[], $28::int[])
         as w (id, amount_cents, payment_intent_id, session_id, customer_id, subscription_id, invoice_id, balance_transaction_id, created_at,
               answer_status, answer_start, answer_bytes)
      where r.account_id = $1 and r.test_mode = $2 and r.id = w.id and r.status = 'requested' and ${afterKeyLock}
     returning w.*
   ), items as (
     insert into refunds.refund_items (account_id, test_mode, refund_id, payment_intent_id, position, payment_method_id,
       charge_id, processor_intent_id, amount_cents, status, processor, processor_account, balance_transaction_id, captures)
     select $1, $2, refund.id, part.payment_intent_id, part.position, part.payment_method_id, part.charge_id,
            part.processor_intent_id, part.amount_cents, 'pending', part.processor, part.processor_account, part.balance_transaction_id,
            part.captures
       from refund join unnest($12::text[], $13::int[], $14::text[], $15::text[], $16::text[], $17::text[], $18::bigint[],
              $19::refunds.processor[], $20::text[], $30::text[], $31::jsonb[])
         as part (refund_id, position, payment_intent_id, payment_method_id, charge_id, processor_intent_id, amount_cents, processor,
                  processor_account, balance_transaction_id, captures) on part.refund_id = refund.id
   ), attempts as (
     insert into refunds.refund_attempts (account_id, test_mode, id, refund_id, payment_intent_id, processor_intent_id,
       amount_cents, status, sends, first_sent_at, sent_at, lease_until, next_check_at)
     select $1, $2, part.id, refund.id, part.payment_intent_id, part.processor_intent_id, part.amount_cents, 'sending', 1,
            clock_timestamp(), clock_timestamp(), ${leaseFromNow('$22::bigint')}, ${leaseFromNow('$22::bigint')}
       from refund join unnest($12::text[], $21::text[], $14::text[], $17::text[], $18::bigint[])
         as part (refund_id, id, payment_intent_id, processor_intent_id, amount_cents) on part.refund_id = refund.id
   ), entries as (
     insert into refunds.ledger_entries (account_id, test_mode, transaction_id, ledger_account, credit_account, amount_cents, kind,
       refund_id, payment_intent_id, created_at)
     select $1, $2, e.id, $24, $25, e.amount_cents, 'refund_pending', refund.id, e.payment_intent_id, refund.created_at
       from refund join unnest($12::text[], $23::text[], $18::bigint[], $14::text[])
         as e (refund_id, id, amount_cents, payment_intent_id) on e.refund_id = refund.id
   ), balance as (
     insert into refunds.balance_transactions (account_id, test_mode, id, type, amount_cents, status, source_id,
       checkout_session_id, reporting_category, available_on, created_at)
     select $1, $2, part.id, 'refund', - part.amount_cents, 'pending', refund.id, refund.session_id, 'refund', refund.created_at, refund.created_at
       from refund join unnest($12::text[], $30::text[], $18::bigint[]) as part (refund_id, id, amount_cents) on part.refund_id = refund.id
   ), answered as (${keyOfAttemptFinish('r.id', 'r.answer_status', 'substring($29::bytea from r.answer_start for r.answer_bytes)', 'refund r')}),
   told as (${outboxInsert(32, 'refund', (aggregate) => `refund.id = ${aggregate}`)})
   select refund.id, clock_timestamp() as now from refund`,
);
