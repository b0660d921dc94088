import { maxGroupSize, type Scope, scoped, type Tx } from '@eligo/postgres';
import { wakeJobAfterCommit } from '@eligo/service';
import { balanceTransactionOf } from '../domain/balance-transaction.ts';
import type { ChargeAttempt } from '../domain/charge-attempt.ts';
import type { PaymentIntent } from '../domain/payment-intent.ts';
import { tellJournalAfterMs, tellJournalJob } from './journal.ts';
import type { ReportedCharge } from './payment-intents.ts';

/** A charge of an invoice that took its money. */
export interface PaidInvoiceCharge {
  readonly attempt: Pick<ChargeAttempt, 'id' | 'processorIntentId'>;
  /** As it shall be. */
  readonly intent: PaymentIntent;
  readonly charge: ReportedCharge;
  /** The id of the ledger's entry for the capture. */
  readonly ledgerEntryId: string;
}

// One statement for all charges of a group, as for confirms. The limit is the group's own; without it the planner expects a hundred rows of JSON.
const settle = scoped<{ intents: bigint }>(
  'checkout.settle_invoice_charges',
  `with charged as materialized (
     select c.* from json_to_recordset($3::json) as c (
       attempt_id text, intent_id text, charge_id text, processor_charge_id text, balance_transaction_id text,
       processor_intent_id text, entry_id text, at timestamptz)
     limit ${maxGroupSize}
   ), attempt as (
     update checkout.charge_attempts a set status = 'succeeded', failure_code = null, decline_code = null
     from charged c
     where a.account_id = $1 and a.test_mode = $2 and a.id = c.attempt_id and a.status in ('sending', 'unknown')
     returning c.*
   ), intent as (
     update checkout.payment_intents i set status = 'succeeded', amount_received_cents = i.amount_cents, latest_charge_id = c.charge_id,
       processor_intent_id = c.processor_intent_id
     from attempt c
     where i.account_id = $1 and i.test_mode = $2 and i.id = c.intent_id
     returning i.id, i.amount_cents, i.payment_method_id, c.charge_id, c.processor_charge_id, c.balance_transaction_id, c.entry_id, c.at
   ), charge as (
     insert into checkout.charges (account_id, test_mode, id, payment_intent_id, payment_method_id, status, amount_cents,
       amount_captured_cents, processor_charge_id, created_at, balance_transaction_id)
     select $1, $2, i.charge_id, i.id, i.payment_method_id, 'succeeded', i.amount_cents, i.amount_cents, i.processor_charge_id, i.at,
       i.balance_transaction_id
     from intent i
   ), entry as (
     insert into checkout.ledger_entries (account_id, test_mode, id, debit_account, credit_account, amount_cents, kind,
       payment_intent_id, source_id, created_at)
     select $1, $2, i.entry_id, 'processor_balance', 'customer_receipts', i.amount_cents, 'capture', i.id, i.charge_id, i.at
     from intent i
   )
   select count(*) as intents from intent`,
);

/**
 * Writes what some charges of invoices that took their money change, at most 16, with one statement. False when one of them is settled already: the caller then
 * rolls back.
 */
export async function settleInvoiceCharges(
  tx: Tx,
  scope: Scope,
  charges: readonly PaidInvoiceCharge[],
): Promise<boolean> {
  wakeJobAfterCommit(tx, tellJournalJob, tellJournalAfterMs);
  const rows = charges.map(({ attempt, intent, charge, ledgerEntryId }) => ({
    attempt_id: attempt.id,
    intent_id: intent.id,
    charge_id: charge.chargeId,
    processor_charge_id: charge.processorChargeId,
    balance_transaction_id: balanceTransactionOf(charge.chargeId),
    processor_intent_id: attempt.processorIntentId,
    entry_id: ledgerEntryId,
    at: charge.at,
  }));
  const written = await tx.row(settle, scope, [JSON.stringify(rows)]);
  return written?.intents === BigInt(charges.length);
}
