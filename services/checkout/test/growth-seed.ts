import { createHash } from 'node:crypto';
import { fillTables, seededEvents, seededId, seededKeys, seededRows, type TestDatabase } from '@eligo/testkit';
import { datedSessions } from './growth-dated.ts';

/** The hash of what was sent under every seeded key. */
export const keyHash = createHash('sha256').update('k').digest();

/** Fills every table with `each` records of the account and a fifth of them of others, as the superuser and without triggers. */
export async function seedCheckout(test: TestDatabase, each: number): Promise<void> {
  await fillTables(test, 'checkout', statements(each));
}

// A fifth is of the release that did not store it: the same number of them is written at a time, in either account.
const atSandbox = `case when n % 5 <> 0 then 'sandbox'::checkout.processor end, case when n % 5 <> 0 then 'acct_growth' end`;

function statements(each: number): string[] {
  const scope = 'account_id, test_mode';
  const many = seededRows(each);
  return [
    `test_clocks (${scope}, id, frozen_time, unsettled) select account, true, 'fclk_' || id, at, n % ${each / 10} = 0 ${many}`,
    `customers (${scope}, id, first_name, last_name, email, test_clock_id, created_at, updated_at, processor_customer_id, processor, processor_account)
     select account, true, 'fcus_' || id, 'Jo', 'Doe ' || n, 'c' || n || '@example.com', case when n % 10 = 0 then 'fclk_' || id end, at, at,
       'cus_' || id, ${atSandbox} ${many}`,
    `payment_links (${scope}, id, active, mode, terms, created_at)
     select account, true, 'fplink_' || id, n % 100 <> 0, 'payment', '{"lines":[{"priceId":"fprice_1","quantity":"1"}]}', at ${many}`,
    `payment_methods (${scope}, id, customer_id, processor_payment_method_id, processor_customer_id, off_session, brand, country, exp_month,
       exp_year, funding, last4, hsa_fsa, created_at, processor, processor_account)
     select account, true, 'fpm_' || id, 'fcus_' || owner, 'pm_' || id, 'cus_' || id, true, 'visa', 'US', 1, 2040, 'debit', '4242', n % 2 = 0, at, ${atSandbox} ${many}`,
    `page_cards (${scope}, processor_payment_method_id, session_id, payment_method_id)
     select account, true, 'pm_' || id, 'fcs_' || id, 'fpm_' || id ${many}`,
    `sessions (${scope}, id, status, mode, capture_method, customer_id, customer_email, test_clock_id, payment_method_id, client_reference_id,
       amount_subtotal_cents, amount_discount_cents, amount_tax_cents, amount_shipping_cents, amount_fee_cents, amount_total_cents,
       amount_eligible_cents, amount_iias_cents, amount_prescription_cents, amount_vision_cents, amount_service_cents,
       amount_received_cents, letter_required, fee_count, discount_count, expires_at, created_at, payment_intent_ids, dispute_ids, subscription_id)
     select account, true, 'fcs_' || id, (array['complete','complete','complete','open','expired','complete','paid','canceled','complete','open'])[1 + n % 10],
       case when n % 4 = 0 then 'subscription' else 'payment' end, 'automatic', 'fcus_' || owner, case when heavy then 'c1' else 'c' || n end || '@example.com',
       case when n % 10 = 9 then 'fclk_' || lpad((n - 9)::text, 26, '0') end, 'fpm_' || id, case when heavy then 'ref' else 'ref ' || n end,
       1000, 0, 0, 0, 10, 1010, 505, 505, 0, 0, 0, 0, false, 1, 1,
       case when n % 20 = 3 then now() - interval '1 hour' - n * interval '1 second' else now() + interval '1 day' end, at, array['fpi_' || id],
       case when n % 50 = 0 then array['fdp_' || id] else '{}' end,
       case when heavy then '${seededId('fsub', 1)}' when n % 4 = 0 then 'fsub_' || id end ${many}`,
    ...datedSessions(each),
    `session_lines (${scope}, session_id, id, position, price_id, product_id, quantity, unit_amount_cents, amount_subtotal_cents,
       amount_discount_cents, amount_tax_cents, amount_shipping_cents, amount_fee_cents, amount_total_cents, amount_eligible_cents,
       eligibility_class, eligibility_rule, eligibility_rule_version, rationale, payment_intent_id)
     select account, true, 'fcs_' || id, 'fli_' || lpad((n * 2 + p)::text, 26, '0'), p, 'fprice_' || id, 'fprod_' || id, 1, 500, 500, 0, 0, 0, 5, 505,
       505 * (1 - p), case when p = 0 then 'auto_substantiation' end, 'product', '', '', 'fpi_' || id ${many} cross join generate_series(0, 1) p`,
    `eligibility_records (${scope}, id, session_id, eligible_cents, food_policy, created_at)
     select account, true, 'felig_' || id, 'fcs_' || id, 505, false, at ${many}`,
    `session_split_versions (${scope}, session_id, version, id, cause, eligible_cents, created_at)
     select account, true, 'fcs_' || id, 1, 'fsplit_' || id, 'created', 505, at ${many}`,
    `session_split_lines (${scope}, session_id, version, line_id, amount_eligible_cents, eligibility_rule, eligibility_rule_version, rationale)
     select account, true, 'fcs_' || id, 1, 'fli_' || lpad((n * 2 + p)::text, 26, '0'), 505 * (1 - p), 'product', '', '' ${many} cross join generate_series(0, 1) p`,
    `session_repricings (${scope}, session_id, number, cause, discount_id, promo_code_id, discount_cents, total_cents, eligible_cents, created_at)
     select account, true, 'fcs_' || id, 1, 'promo_code_entered', 'fdi_' || id, 'fpromo_' || id, 0, 1010, 505, at ${many}`,
    `promo_code_tries (${scope}, session_id, tries) select account, true, 'fcs_' || id, 1 ${many}`,
    `page_visits (${scope}, session_id, seen_at) select account, true, 'fcs_' || id, at ${many}`,
    `session_fees (${scope}, session_id, id, position, amount_cents, applied)
     select account, true, 'fcs_' || id, 'ffee_' || id, 0, 10, true ${many}`,
    `session_discounts (${scope}, session_id, id, position, coupon_id, coupon, amount_cents)
     select account, true, 'fcs_' || id, 'fdi_' || id, 0, 'fcoup_' || id, '{}', 0 ${many}`,
    `session_selling_plans (${scope}, selling_plan_id, session_id)
     select account, true, case when heavy then 'plan' else 'plan ' || n end, 'fcs_' || id ${many}`,
    `session_keys (${scope}, key, request_hash, session_id, created_at) select account, true, 'key ' || n, sha256('k'), 'fcs_' || id,
       now() - case when n % 20 = 0 then 31 else 2 end * interval '1 day' ${many}`,
    `payment_intents (${scope}, id, session_id, customer_id, payment_method_id, leg, capture_method, status, amount_cents, amount_received_cents,
       latest_charge_id, created_at, processor, processor_account)
     select account, true, 'fpi_' || id, 'fcs_' || id, 'fcus_' || owner, 'fpm_' || id, 'health', case when n % 40 = 7 then 'manual' else 'automatic' end,
       case when n % 10 = 0 then 'processing' when n % 40 = 7 then 'requires_capture' else 'succeeded' end, 505, case when n % 10 = 0 or n % 40 = 7 then 0 else 505 end, 'fch_' || id, at, ${atSandbox} ${many}`,
    `charges (${scope}, id, payment_intent_id, payment_method_id, status, amount_cents, amount_captured_cents, processor_charge_id, created_at)
     select account, true, 'fch_' || id, 'fpi_' || id, 'fpm_' || id, 'succeeded', 505, 505, 'ch_' || id, at ${many}`,
    // In doubt: a tenth, half of it due. Among them, later, those that were never sent: nearly all of the account's are of invoices, which billing resumes.
    `charge_attempts (${scope}, id, purpose, subject_id, leg, driver, eligibility_record_id, payment_intent_id, customer_id, payment_method_id,
       processor_payment_method_id, off_session, capture_method, amount_cents, status, lease_until, next_check_at, processor_intent_id, acting_at, processor, processor_account)
     select account, true, 'fatt_' || id, 'session', 'fcs_' || id, 'health', case when n % 20 = 2 and n between 100 and ${each} then 'invoice' else 'confirm' end, 'felig_' || id, 'fpi_' || id, 'fcus_' || owner, 'fpm_' || id, 'pm_' || id,
       true, case when n % 3 = 0 then 'manual' else 'automatic' end, 505,
       case n % 20 when 0 then 'unknown' when 1 then 'unknown' when 2 then 'created' when 3 then 'unknown' when 4 then 'released' when 5 then 'declined' else 'succeeded' end,
       now() - interval '2 hours',
       case n % 20 when 0 then now() + interval '1 hour' when 2 then now() - interval '10 minutes' + n * interval '1 millisecond' else now() - interval '1 hour' end, 'pi_' || id, at, ${atSandbox} ${many}`,
    `authentications (${scope}, session_id, attempt_id, requested_at) select account, true, 'fcs_' || id, 'fatt_' || id, at ${many}`,
    `session_cancellations (${scope}, session_id, canceled_by) select account, true, 'fcs_' || id, 'partner' ${many}`,
    `ledger_entries (${scope}, id, debit_account, credit_account, amount_cents, kind, payment_intent_id, source_id, created_at)
     select account, true, 'fltx_' || id, 'processor_balance', 'customer_receipts', 505, 'capture', 'fpi_' || id, 'fch_' || id, at ${many}`,
    `payment_locks (${scope}, kind, id, attempt_id, lease_until)
     select account, true, 'customer', 'fcus_' || id, 'fatt_' || id, now() - interval '1 day' ${many}`,
    `payment_plans (${scope}, session_id, id, state, other_payment_method_id, health_attempt_id, release_at, lease_until, next_check_at, acting_at)
     select account, true, 'fcs_' || id, 'fplan_' || id,
       (array['done','done','done','failed','done','running','running','awaiting_second_card','awaiting_capture','releasing'])[1 + n % 10],
       'fpm_' || id, 'fatt_' || id, case when n % 20 = 7 then now() - interval '1 hour' else now() + interval '1 hour' end,
       now() - interval '1 hour', case when n % 20 = 15 then now() + interval '1 hour' else now() - interval '1 hour' end, at ${many}`,
    `intent_operations (${scope}, id, payment_intent_id, attempt_id, processor_intent_id, kind, amount_cents, status, next_check_at, lease_until, acting_at, capture_id)
     select account, true, 'fiop_' || id, 'fpi_' || id, 'fatt_' || id, 'pi_' || id, 'capture', 505, case when n % 10 = 0 then 'pending' else 'done' end,
       case when n % 20 = 0 then now() + interval '1 hour' else now() - interval '1 hour' end, now() - interval '1 hour', at, 'fcap_' || id ${many}`,
    `captures (${scope}, id, session_id, cause, status, amount_cents, tax_cents, shipping_cents, discount_cents, final, created_at)
     select account, true, 'fcap_' || id, 'fcs_' || id, 'session', case when n % 10 = 0 then 'pending' else 'succeeded' end, 505, 0, 0, 0, true, at ${many}`,
    `capture_lines (${scope}, capture_id, line_id, payment_intent_id, amount_cents)
     select account, true, 'fcap_' || id, 'fli_' || lpad((n * 2)::text, 26, '0'), 'fpi_' || id, 505 ${many}`,
    `line_tenders (${scope}, session_id, line_id, payment_intent_id, amount_cents)
     select account, true, 'fcs_' || id, 'fli_' || lpad((n * 2)::text, 26, '0'), 'fpi_' || id, 505 ${many}`,
    `refund_reservations (${scope}, refund_id, session_id, payment_intent_id, amount_cents, acting_at)
     select account, true, 'fre_' || id, 'fcs_' || id, 'fpi_' || id, 50, at ${many}`,
    `refund_reservation_parts (${scope}, refund_id, payment_intent_id, amount_cents) select account, true, 'fre_' || id, 'fpi_' || id, 50 ${many}`,
    `refund_reservation_lines (${scope}, refund_id, line_id, payment_intent_id, amount_cents)
     select account, true, 'fre_' || id, 'fli_' || lpad((n * 2)::text, 26, '0'), 'fpi_' || id, 50 ${many}`,
    `refund_reservation_captures (${scope}, refund_id, payment_intent_id, capture_id, amount_cents)
     select account, true, 'fre_' || id, 'fpi_' || id, 'fcap_' || id, 50 ${many}`,
    `refund_claims (${scope}, refund_id, claim) select account, true, 'fre_' || id, 'reserved' ${many}`,
    `setup_intents (${scope}, id, status, customer_id, payment_method_id, session_id, created_at, processor, processor_account)
     select account, true, 'fseti_' || id, 'succeeded', 'fcus_' || owner, 'fpm_' || id, 'fcs_' || id, at, ${atSandbox} ${many}`,
    `set_up_failures (${scope}, session_id, setup_intent_id, failure_code, failed_at)
     select account, true, 'fcs_' || id, 'fseti_' || id, 'card_declined', at ${many}`,
    // A tenth waits and is due; a tenth is looked at later; a twentieth has no set-up intent yet.
    `subscription_set_ups (${scope}, subscription_id, setup_intent_id, customer_id, payment_method_id, processor, processor_account,
       processor_setup_intent_id, status, saved_payment_method_id, expires_at, next_check_at)
     select account, true, 'fsub_' || id, 'fseti_' || id, 'fcus_' || owner, 'fpm_' || id, 'sandbox', 'acct_1', case when n % 20 <> 2 then 'seti_' || id end,
       case when n % 10 in (0, 1) then 'waiting' when n % 20 = 2 then 'beginning' else 'saved' end, case when n % 10 not in (0, 1) and n % 20 <> 2 then 'fpm_' || id end,
       now() + interval '1 day', now() + case when n % 10 = 1 then 1 else -1 end * interval '1 hour' ${many}`,
    `letters (${scope}, id, session_id, product_id, customer_id, test_clock_id, status, review_until, valid_until, created_at, decided_at)
     select account, true, 'flet_' || id, 'fcs_' || id, case when heavy then '${seededId('fprod', 1)}' else 'fprod_' || id end, 'fcus_' || owner,
       case when n % 10 = 9 then 'fclk_' || lpad((n - 9)::text, 26, '0') end,
       case n % 5 when 0 then 'approved' when 1 then 'denied' when 2 then 'expired' else 'in_review' end,
       case when n % 2 = 0 then now() - interval '1 hour' else now() + interval '1 day' end,
       case when n % 5 = 0 then now() + interval '1 year' end, at, case when n % 5 in (0, 1, 2) then at end ${many}`,
    `session_existing_letters (${scope}, session_id, product_id, letter_id)
     select account, true, 'fcs_' || id, 'fprod_' || id, 'flet_' || id ${many}`,
    `letter_answers (${scope}, letter_id, sealed, submitted_at) select account, true, 'flet_' || id, 'sealed', at ${many}`,
    `reviewers (id, name, license, state, credential_hash)
     select 'frev_' || account || id, 'Jo', 'L', 'NY', sha256((account || id)::bytea) ${many}`,
    `letter_reads (${scope}, letter_id, reviewer_id, request_id)
     select account, true, 'flet_' || id, 'frev_' || account || id, 'freq' ${many}`,
    `catalog_tasks (${scope}, session_id, kind, due_at) select account, true, 'fcs_' || id, 'finalize',
       now() + case when n % 20 = 0 then -1 else 1 end * interval '1 hour' ${many}`,
    `processor_events (${scope}, processor, id, type, object_id, created_at, received_at)
     select account, true, 'sandbox', 'evt_' || id, 'payment_intent.succeeded', 'pi_' || id, at, now() - case when n % 10 = 0 then interval '50 days' else interval '1 day' end ${many}`,
    `disputes (${scope}, id, payment_intent_id, charge_id, session_id, amount_cents, held_cents, seq)
     select account, true, 'fdp_' || id, 'fpi_' || id, 'fch_' || id, 'fcs_' || id, 50, 0, 1 ${many}`,
    `renewal_notes (${scope}, session_id, subscription_id, subscription_seq) select account, true, 'fcs_' || id, 'fsub_' || id, 1 ${many}`,
    seededKeys(each, 'confirm'),
    ...seededEvents(each),
  ];
}
