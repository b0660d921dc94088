import { createHash } from 'node:crypto';
import { fillTables, seededEvents, seededKeys, seededRows, type TestDatabase } from '@eligo/testkit';
import { seededLedger } from './growth-ledger.ts';

/** The hash of what was sent under every seeded key. */
export const keyHash = createHash('sha256').update('k').digest();

/**
 * Fills every table with `each` records of the account and a fifth of them of others. A fifth are refunds of one session, on one card. Of each ten, one
 * is requested, one refused, one failing, one unsettled at the processor; the others went through and are looked at again.
 */
export async function seedRefunds(test: TestDatabase, each: number): Promise<void> {
  const rows = seededRows(each);
  const scope = 'account_id, test_mode';
  const pending = `${rows} where n % 10 > 1`;
  await fillTables(test, 'refunds', [
    // Of what is requested, half was left by a process that died.
    `refunds (${scope}, id, status, subject_session_id, instruction, operation_id, amount_cents, payment_intent_id, checkout_session_id, reference_id,
       balance_transaction_id, refusal_code, requested_at, created_at, lease_until, next_check_at)
     select account, true, 'fre_' || id,
       (array['requested','refused','pending','pending','succeeded','succeeded','succeeded','succeeded','succeeded','succeeded'])[1 + n % 10],
       'fcs_' || owner, '', case when n % 5 = 0 then 'operation ' || n end, case when n % 10 > 1 then 50 end,
       case when n % 10 > 1 then 'fpi_' || owner end, case when n % 10 > 1 then 'fcs_' || owner end, 'reference ' || n,
       case when n % 10 > 1 then 'fbtxn_' || id end, case when n % 10 = 1 then 'conflict' end, at,
       case when n % 10 > 1 then at end, case when n % 10 = 0 then now() - interval '1 hour' end,
       case n % 20 when 0 then now() - interval '1 hour' - n * interval '1 second' when 10 then now() + n * interval '1 second' end ${rows}`,
    `refund_items (${scope}, refund_id, payment_intent_id, position, payment_method_id, charge_id, processor_intent_id, amount_cents, status, end_status,
       lease_until, checks, next_check_at, processor, processor_account)
     select account, true, 'fre_' || id, 'fpi_' || owner, 0, 'fpm_' || owner, 'fch_' || owner, 'pi_' || owner, 50,
       case n % 10 when 2 then 'releasing' when 3 then 'pending' else 'succeeded' end, case when n % 10 = 2 then 'failed' end, null,
       case when n % 10 = 2 then 9 else 0 end,
       case n % 20 when 2 then now() - interval '1 hour' - n * interval '1 second' when 12 then now() + n * interval '1 second' end,
       case when n % 5 <> 0 then 'sandbox'::refunds.processor end, case when n % 5 <> 0 then 'acct_growth' end ${pending}`,
    `refund_attempts (${scope}, id, refund_id, payment_intent_id, processor_intent_id, amount_cents, status, lease_until, sends, first_sent_at, sent_at,
       next_check_at, processor_refund_id, created_at)
     select account, true, 'fatt_' || id, 'fre_' || id, 'fpi_' || owner, 'pi_' || owner, 50,
       case n % 30 when 3 then 'created' when 13 then 'sending' when 23 then 'unknown' else 'accepted' end, now() - interval '1 hour', 1, at, at,
       now() + case when n % 4 = 0 then -1 else 1 end * (interval '1 hour' + n * interval '1 second'),
       case when n % 10 > 3 then 're_' || id end, at ${pending}`,
    `ledger_entries (${scope}, transaction_id, ledger_account, amount_cents, kind, refund_id, payment_intent_id, created_at, credit_account)
     select account, true, 'fltx_' || id, 'refunds', 50, 'refund_pending', 'fre_' || id, 'fpi_' || owner, at, 'refunds_payable' ${pending}`,
    `balance_transactions (${scope}, id, type, amount_cents, status, available_on, source_id, checkout_session_id, reporting_category, created_at)
     select account, true, 'fbtxn_' || id, 'refund', -50, 'pending', at, 'fre_' || id, 'fcs_' || owner, 'refund', at ${pending}`,
    `processor_events (${scope}, processor, id, type, object_id, created_at, received_at, status, checks, next_check_at, settled_at)
     select account, true, 'sandbox', 'evt_' || id, 'refund.updated', 're_' || id, at, at,
       case when n % 10 < 3 then 'waiting' when n % 10 = 3 then 'dropped' else 'handled' end, 1,
       case n % 10 when 0 then now() - interval '1 hour' - n * interval '1 second' when 1 then now() + n * interval '1 second' when 2 then now() - interval '1 minute' end,
       case when n % 10 > 2 then now() - case when n % 10 = 4 then interval '50 days' else interval '1 day' end end ${rows}`,
    `disputes (${scope}, id, processor, processor_account, processor_dispute_id, status, processor_status, reason, amount_cents, currency, payment_intent_id, charge_id,
       checkout_session_id, created_at, lease_until, next_check_at)
     select account, true, 'fdp_' || id, 'sandbox', 'acct_1', 'du_' || id, 'needs_response', 'needs_response', 'general', 50, 'usd', 'fpi_' || owner, 'fch_' || owner,
       'fcs_' || owner, at, at, now() + case when n % 2 = 0 then -1 else 1 end * n * interval '1 second' ${rows}`,
    `dispute_movements (${scope}, dispute_id, processor_balance_transaction_id, balance_transaction_id, amount_cents, fee_cents)
     select account, true, 'fdp_' || id, 'txn_' || id, 'fbtxn_d' || id, -50, 1500 ${rows}`,
    // Of what waits to be uploaded, half was given up.
    `evidence_files (${scope}, dispute_id, field, file_id, type, size_bytes, upload_key, processor_file_id, content_until)
     select account, true, 'fdp_' || id, 'receipt', 'ffile_' || id, 'pdf', 1, 'key', case when n % 2 = 0 then 'file_' || id end,
       case when n % 2 = 1 then now() + case when n % 4 = 1 then -1 else 1 end * n * interval '1 second' end ${rows}`,
    `evidence_parts (${scope}, dispute_id, field, file_id, part, bytes)
     select account, true, 'fdp_' || id, 'receipt', 'ffile_' || id, 0, 'x' ${rows} where n % 2 = 1`,
    `event_lists (${scope}, processor, processor_account, read_to, next_read_at)
     select account, true, 'sandbox', 'acct_' || id, now() - n * interval '1 second', now() + case when n % 2 = 0 then -1 else 1 end * n * interval '1 second' ${rows}`,
    ...seededLedger(rows),
    seededKeys(each, 'refund'),
    ...seededEvents(each),
  ]);
}
