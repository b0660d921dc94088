import { fillTables, seededEvents, seededKeys, seededRows, type TestDatabase } from '@eligo/testkit';

/** Fills every table with `each` records of the seeded account and a fifth of them of others. A fifth are of one customer. */
export async function seedBilling(test: TestDatabase, each: number): Promise<void> {
  const rows = seededRows(each);
  const scope = 'account_id, test_mode';
  // The trigger that writes it is off while tables are filled.
  const due = `case n % 10 when 3 then null when 8 then null when 5 then at + interval '37 months' when 1 then at + interval '37 months' when 2 then at + interval '37 months'
    else at + interval '1 month' end`;
  const held = `case when n % 10 = 6 then timestamptz '9999-01-01 00:00:00+00' end`;
  await fillTables(test, 'billing', [
    // A few are on their way, whatever there is.
    `test_clocks (${scope}, id, frozen_time, status, created_at, deleted_at)
     select account, true, 'fclk_' || id, at, case when n % ${each / 10} = 0 then 'advancing' else 'ready' end, at,
       case when n > ${each / 10} and n % 10 > 2 then at end ${rows}`,
    // Most renew by the wall clock, and most of these are due; a twentieth ends then, and a tenth waits for an operator. A fifth ends by a test clock that has not come to it.
    `subscriptions (${scope}, id, customer_id, checkout_session_id, test_clock_id, status, anchor, interval, interval_count, current_period_start,
       current_period_end, cancel_at_period_end, canceled_at, latest_invoice_id, created_at, payment_at, due_at,
       held_until, work_at)
     select account, true, 'fsub_' || id, 'fcus_' || owner, 'fcs_' || id,
       case when n % 10 = 1 then 'fclk_' || id when n % 10 = 2 then 'fclk_' || lpad('1', 26, '0') end,
       (array['active', 'active', 'active', 'canceled', 'trialing', 'past_due', 'active', 'active', 'paused', 'active'])[1 + n % 10], at, 'month', 1, at,
       at + interval '1 month' + case when n % 10 in (1, 2) then interval '3 years' else interval '0' end, n % 20 = 0 or n % 10 in (1, 2),
       case when n % 10 = 3 then at end, 'fin_' || id, at, case when n % 10 = 5 then at + interval '37 months' end, ${due}, ${held},
       case when n % 10 not in (1, 2) then greatest(${due}, ${held}) end ${rows}`,
    `subscription_items (${scope}, subscription_id, id, position, price_id, quantity, unit_amount_cents, created_at, updated_at)
     select account, true, 'fsub_' || id, 'fsubi_' || id, 0, 'fprice_' || id, 1, 100, at, at ${rows}`,
    `invoices (${scope}, id, subscription_id, customer_id, checkout_session_id, status, collection_method, total_cents, amount_paid_cents, period_start,
       period_end, paid_at, created_at)
     select account, true, 'fin_' || id, 'fsub_' || owner, 'fcus_' || owner, 'fcs_' || id, 'paid', 'charge_automatically', 100, 100, at,
       at + interval '1 month', at, at ${rows}`,
    // Half of the mails of one receipt were asked for again.
    `receipts (${scope}, id, checkout_session_id, subscription_id, email, amount_cents, content, created_at)
     select account, true, 'frcpt_' || id, 'fcs_' || id, case when heavy then 'fsub_' || owner else 'fsub_' || id end, 'jo@example.com', 100, '{}', at ${rows}`,
    // Half of the sales were refunded, those of the large account all in one session.
    `receipts (${scope}, id, checkout_session_id, refund_id, email, amount_cents, content, created_at)
     select account, true, 'frcpt_r' || id, 'fcs_' || owner, 'fre_' || id, 'jo@example.com', 50, '{}', at ${rows} where n % 2 = 0`,
    `receipt_mails (${scope}, id, receipt_id, cause, status, next_try_at, sent_at, created_at)
     select account, true, 'frml_' || id, case when n % 2 = 0 then 'frcpt_' || id else 'frcpt_' || owner end, null,
       case when n % 10 = 0 then 'pending' else 'sent' end, case when n % 10 = 0 then now() - interval '1 minute' end,
       case when n % 10 > 0 then at end, at ${rows}`,
    `backup_agreements (${scope}) select distinct account, true ${rows}`,
    `renewal_settings (${scope}, spread_minutes) select distinct account, true, 1 ${rows}`,
    `notice_settings (${scope}, merchant_name) select distinct account, true, 'Shop' ${rows}`,
    `notice_mails (${scope}, id, invoice_id, attempt, failure_day, status, next_try_at, sent_at, created_at)
     select account, true, 'fnml_' || id, 'fin_' || id, 1, 0, case when n % 10 = 0 then 'pending' else 'sent' end,
       case when n % 10 = 0 then now() - interval '1 minute' end, case when n % 10 > 0 then at end, at ${rows}`,
    `subscription_mails (${scope}, id, subscription_id, kind, about, status, next_try_at, sent_at, created_at)
     select account, true, 'fsml_' || id, 'fsub_' || id, 'renewal', at, case when n % 10 = 0 then 'pending' else 'sent' end,
       case when n % 10 = 0 then now() - interval '1 minute' end, case when n % 10 > 0 then at end, at ${rows}`,
    `catalog_tasks (${scope}, discount_id, subscription_id, kind, due_at)
     select account, true, 'fdi_' || id, 'fsub_' || id, 'release', at ${rows}`,
    `invoice_numbers (${scope}, next) select distinct account, true, ${each} ${rows}`,
    `dunning_settings (${scope}, retry_days, ends_with, updated_at) select distinct account, true, '{1,3}'::smallint[], 'canceled', now() ${rows}`,
    `invoice_lines (${scope}, invoice_id, position, subscription_item_id, price_id, quantity, unit_amount_cents, subtotal_cents, discount_cents,
       tax_cents, shipping_cents, total_cents, eligible_cents, rule, rule_version, rationale)
     select account, true, 'fin_' || id, 0, 'fsubi_' || id, 'fprice_' || id, 1, 100, 100, 0, 0, 0, 100, 0, 'none', '', '' ${rows}`,
    // A fifth are pending, of one subscription each; all credits of the others are used. Half are in part for what nobody had paid, and half of these know the invoice that carries it.
    `prorations (${scope}, id, subscription_id, subscription_item_id, kind, price_id, quantity, whole_cents, subtotal_cents, discount_cents, tax_cents,
       shipping_cents, amount_cents, eligible, rule, rule_version, rationale, period_start, period_end, left_cents, created_at,
       unpaid_cents, unpaid_invoice_id)
     select account, true, 'fprr_' || id, case when n % 5 = 0 then 'fsub_' || id else 'fsub_' || owner end, 'fsubi_' || id, 'credit', 'fprice_' || id, 1, 100, 100, 0,
       0, 0, 100, false, 'none', '', '', at, at + interval '1 month', case when n % 5 = 0 then 100 else 0 end, at,
       case when n % 2 = 0 then 50 else 0 end, case when n % 4 = 0 then 'fin_' || id end ${rows}`,
    `invoice_credits (${scope}, invoice_id, proration_id, amount_cents, eligible)
     select account, true, 'fin_' || id, 'fprr_' || id, 100, false ${rows}`,
    `invoice_charges (${scope}, id, invoice_id, leg, backup, payment_method_id, amount_cents, status, acting_at, settled_at)
     select account, true, 'fatt_' || id, 'fin_' || id, 'other', false, 'fpm_' || id, 100, 'succeeded', at, at ${rows}`,
    `updated_cards (${scope}, payment_method_id, updated_at) select account, true, 'fpm_' || id, at ${rows}`,
    seededKeys(each, 'POST /v1/subscriptions'),
    ...seededEvents(each),
  ]);
}
