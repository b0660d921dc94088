import { type EncodedEvent, encodedOutboxValues, outboxInsert } from '@eligo/events';
import { leaseFromNow, type Scope, scoped, type Tx } from '@eligo/postgres';
import { wakeJobAfterCommit } from '@eligo/service';
import { newId } from '@eligo/values';
import { ledgerSides } from '../domain/ledger.ts';
import type { Refund, RefundAttempt, RefundItem } from '../domain/refund.ts';
import { sweepRefundsJob } from './due-work.ts';
import { postEntriesAfterMs, postEntriesJob } from './journal-entries.ts';

/** A refund on one card that went through, as whoever made it pending has it. */
export interface SettledWrite {
  readonly refund: Refund;
  readonly item: RefundItem;
  readonly attempt: RefundAttempt;
  readonly processorRefundId: string;
  /** Until the next look at what the processor has. */
  readonly pauseMs: number;
  readonly events: readonly EncodedEvent[];
}

/**
 * Settles refunds that went through in one statement: their attempts, their one item, the movements, the refunds and the events. Answers the ids of
 * those that are settled; of one that has changed since it was made pending nothing is written.
 */
export async function writeSettled(
  tx: Tx,
  scope: Scope,
  settled: readonly SettledWrite[],
): Promise<ReadonlySet<string>> {
  for (const { pauseMs } of settled) wakeJobAfterCommit(tx, sweepRefundsJob, pauseMs);
  wakeJobAfterCommit(tx, postEntriesJob, postEntriesAfterMs);
  const rows = await tx.rows(write, scope, [
    settled.map(({ refund }) => refund.refundId),
    settled.map(({ attempt }) => attempt.attemptId),
    settled.map(({ item }) => item.paymentIntentId),
    settled.map(({ processorRefundId }) => processorRefundId),
    settled.map(({ pauseMs }) => pauseMs),
    settled.map(({ item }) => item.reference.id),
    settled.map(({ item }) => item.reference.type),
    settled.map(({ item }) => item.reference.status),
    settled.map(({ refund }) => refund.balanceTransactionId),
    settled.map(({ attempt }) => attempt.now),
    settled.map(() => newId('ledger_transaction')),
    ledgerSides.refund_succeeded.debit,
    ledgerSides.refund_succeeded.credit,
    settled.map(({ item }) => item.amountCents),
    ...encodedOutboxValues(settled.flatMap(({ events }) => events)),
  ]);
  return new Set(rows.map(({ id }) => id));
}

// Locks the refunds first, in the order of their ids, as every writer does. The version that its creation left is 1. Every part names its rows by
// the whole key, which the service's planner settings make it look up.
const write = scoped<{ id: string }>(
  'refunds.write_settled',
  `with held as materialized (
     select w.* from unnest($3::text[], $4::text[], $5::text[], $6::text[], $7::bigint[], $8::text[], $9::text[], $10::text[], $11::text[],
              $12::timestamptz[], $13::text[], $16::bigint[])
         as w (refund_id, attempt_id, intent_id, processor_refund_id, pause_ms, reference_id, reference_type, reference_status, balance_id,
               at, entry_id, amount_cents)
       join refunds.refunds r on r.account_id = $1 and r.test_mode = $2 and r.id = w.refund_id
       join refunds.refund_items i on i.account_id = $1 and i.test_mode = $2 and i.refund_id = w.refund_id and i.payment_intent_id = w.intent_id
      where r.status = 'pending' and r.version = 1 and i.status = 'pending'
      order by r.id for no key update of r, i
   ), attempt as (
     update refunds.refund_attempts a
        set status = 'accepted', lease_until = clock_timestamp(), next_check_at = ${leaseFromNow('w.pause_ms')}, checks = 0,
            processor_refund_id = w.processor_refund_id
       from held w
      where a.account_id = $1 and a.test_mode = $2 and a.id = w.attempt_id and a.refund_id = w.refund_id
        and a.payment_intent_id = w.intent_id and a.status = 'sending'
     returning w.*
   ), refund as (
     update refunds.refunds r
        set status = 'succeeded', reference_id = w.reference_id, reference_type = w.reference_type, reference_status = w.reference_status,
            version = r.version + 1
       from attempt w where r.account_id = $1 and r.test_mode = $2 and r.id = w.refund_id
     returning r.id
   ), item as (
     update refunds.refund_items i
        set status = 'succeeded', reference_id = w.reference_id, reference_type = w.reference_type, reference_status = w.reference_status,
            lease_until = null
       from attempt w
      where i.account_id = $1 and i.test_mode = $2 and i.refund_id = w.refund_id and i.payment_intent_id = w.intent_id
   ), entries as (
     insert into refunds.ledger_entries (account_id, test_mode, transaction_id, ledger_account, credit_account, amount_cents, kind,
       refund_id, payment_intent_id, created_at)
     select $1, $2, w.entry_id, $14, $15, w.amount_cents, 'refund_succeeded', w.refund_id, w.intent_id, w.at from attempt w
   ), balance as (
     update refunds.balance_transactions b set status = 'available', available_on = w.at
       from attempt w where b.account_id = $1 and b.test_mode = $2 and b.id = w.balance_id and b.source_id = w.refund_id and b.status = 'pending'
   ), told as (${outboxInsert(17, 'refund', (aggregate) => `refund.id = ${aggregate}`)})
   select id from refund`,
);
