import { balanceTransactionOf } from '../domain/balance-transaction.ts';
import type { ChargeAttempt } from '../domain/charge-attempt.ts';
import type { PaymentIntent } from '../domain/payment-intent.ts';
import type { ReportedCharge } from './payment-intents.ts';

/** A charge that took its money, which a statement records with others of its group. */
export interface ReceivedCharge {
  readonly attempt: Pick<ChargeAttempt, 'id' | 'processorIntentId'>;
  /** As it is from now on. */
  readonly intent: PaymentIntent;
  readonly charge: ReportedCharge;
  /** The id of the ledger's entry for the capture. */
  readonly ledgerEntryId: string;
  /** Whether the transaction also tells the ledger of it, so that no job has to. */
  readonly isTold?: boolean;
}

/** The columns of `receivedRow`, for `json_to_recordset`. */
export const receivedColumns = `attempt_id text, intent_id text, charge_id text, processor_charge_id text, balance_transaction_id text,
       processor_intent_id text, entry_id text, is_told boolean, at timestamptz`;

/** Under the names of the columns. */
export function receivedRow({ attempt, intent, charge, ledgerEntryId, isTold = false }: ReceivedCharge) {
  return {
    attempt_id: attempt.id,
    intent_id: intent.id,
    charge_id: charge.chargeId,
    processor_charge_id: charge.processorChargeId,
    balance_transaction_id: balanceTransactionOf(charge.chargeId),
    processor_intent_id: attempt.processorIntentId,
    entry_id: ledgerEntryId,
    is_told: isTold,
    at: charge.at,
  };
}

/** The SQL parts `intent`, `charge` and `entry`: the intents, charges and ledger entries of the charges whose rows the part `attempt` has. */
export const receivedText = `intent as (
     update checkout.payment_intents i set status = 'succeeded', amount_received_cents = i.amount_cents,
       amount_capturable_cents = 0, latest_charge_id = c.charge_id, processor_intent_id = c.processor_intent_id
     from attempt c
     where i.account_id = $1 and i.test_mode = $2 and i.id = c.intent_id
     returning i.id, i.amount_cents, i.amount_received_cents, i.payment_method_id, c.charge_id, c.processor_charge_id,
       c.balance_transaction_id, c.entry_id, c.is_told, c.at
   ), charge as (
     insert into checkout.charges (account_id, test_mode, id, payment_intent_id, payment_method_id, status, amount_cents,
       amount_captured_cents, processor_charge_id, created_at, balance_transaction_id)
     select $1, $2, i.charge_id, i.id, i.payment_method_id, 'succeeded', i.amount_cents, i.amount_received_cents,
       i.processor_charge_id, i.at, i.balance_transaction_id
     from intent i
   ), entry as (
     insert into checkout.ledger_entries (account_id, test_mode, id, debit_account, credit_account, amount_cents, kind,
       payment_intent_id, source_id, created_at, tell_at)
     select $1, $2, i.entry_id, 'processor_balance', 'customer_receipts', i.amount_cents, 'capture', i.id, i.charge_id, i.at,
       case when i.is_told is not true then clock_timestamp() end
     from intent i
   )`;
