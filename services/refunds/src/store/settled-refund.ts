import { type NewEvent, outboxInsert, outboxValues } from '@eligo/events';
import { leaseFromNow, type Scope, scoped, type Tx } from '@eligo/postgres';
import { wakeJobAfterCommit } from '@eligo/service';
import { newId } from '@eligo/values';
import { ledgerSides } from '../domain/ledger.ts';
import type { Refund, RefundAttempt, RefundItem } from '../domain/refund.ts';
import { sweepRefundsJob } from './due-work.ts';

/** A refund on one card that went through, as whoever made it pending has it. */
export interface SettledWrite {
  readonly refund: Refund;
  readonly item: RefundItem;
  readonly attempt: RefundAttempt;
  readonly processorRefundId: string;
  /** Until the next look at what the processor has. */
  readonly pauseMs: number;
  readonly events: readonly NewEvent[];
}

/**
 * Settles in one statement a refund that went through: its attempt, its one item, the movement, the refund and the events. False, and nothing
 * is written, when anything of it has changed since it was made pending.
 */
export async function writeSettled(tx: Tx, scope: Scope, settled: SettledWrite): Promise<boolean> {
  const { refund, item, attempt, processorRefundId, pauseMs, events } = settled;
  wakeJobAfterCommit(tx, sweepRefundsJob, pauseMs);
  const row = await tx.row(write, scope, [
    refund.refundId,
    attempt.attemptId,
    item.paymentIntentId,
    processorRefundId,
    pauseMs,
    item.reference.id,
    item.reference.type,
    item.reference.status,
    refund.balanceTransactionId,
    attempt.now,
    newId('ledger_transaction'),
    ledgerSides.refund_succeeded.debit,
    ledgerSides.refund_succeeded.credit,
    item.amountCents,
    ...outboxValues(events),
  ]);
  return row !== undefined;
}

// Locks the refund first, as every writer does. The version that its creation left is 1. Every part names its row by the whole key: joined by the
// refund's id instead, a plan made before the tables had statistics read all refunds of the account (ADR 3).
const write = scoped<{ id: string }>(
  'refunds.write_settled',
  `with held as materialized (
     select r.id from refunds.refunds r
       join refunds.refund_items i on i.account_id = $1 and i.test_mode = $2 and i.refund_id = $3 and i.payment_intent_id = $5
      where r.account_id = $1 and r.test_mode = $2 and r.id = $3 and r.status = 'pending' and r.version = 1 and i.status = 'pending'
        for no key update of r, i
   ), attempt as (
     update refunds.refund_attempts a
        set status = 'accepted', lease_until = clock_timestamp(), next_check_at = ${leaseFromNow('$7::bigint')}, checks = 0,
            processor_refund_id = $6
       from held
      where a.account_id = $1 and a.test_mode = $2 and a.id = $4 and a.refund_id = $3 and a.payment_intent_id = $5 and a.status = 'sending'
     returning a.id
   ), refund as (
     update refunds.refunds r
        set status = 'succeeded', reference_id = $8, reference_type = $9, reference_status = $10, version = r.version + 1
       from attempt where r.account_id = $1 and r.test_mode = $2 and r.id = $3
     returning r.id
   ), item as (
     update refunds.refund_items i
        set status = 'succeeded', reference_id = $8, reference_type = $9, reference_status = $10, lease_until = null
       from attempt
      where i.account_id = $1 and i.test_mode = $2 and i.refund_id = $3 and i.payment_intent_id = $5
   ), entries as (
     insert into refunds.ledger_entries (account_id, test_mode, transaction_id, ledger_account, credit_account, amount_cents, kind,
       refund_id, payment_intent_id, created_at)
     select $1, $2, $13, $14, $15, $16, 'refund_succeeded', $3, $5, $12 from attempt
   ), balance as (
     update refunds.balance_transactions b set status = 'available', available_on = $12
       from attempt where b.account_id = $1 and b.test_mode = $2 and b.id = $11 and b.source_id = $3 and b.status = 'pending'
   ), told as (${outboxInsert(17, 'refund')})
   select id from refund`,
);
