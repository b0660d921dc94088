import { fillTables, seededEvents, seededRows, type TestDatabase } from '@eligo/testkit';

/** Fills every table with `each` records of the seeded account and a fifth of them of others. A fifth are of one customer. */
export async function seedBilling(test: TestDatabase, each: number): Promise<void> {
  const rows = seededRows(each);
  const scope = 'account_id, test_mode';
  await fillTables(test, 'billing', [
    // A few are on their way, whatever there is.
    `test_clocks (${scope}, id, frozen_time, status, created_at)
     select account, true, 'fclk_' || id, at, case when n % ${each / 10} = 0 then 'advancing' else 'ready' end, at ${rows}`,
    // A twentieth ends by the wall clock and is due; a tenth ends by a test clock that has not come to it.
    `subscriptions (${scope}, id, customer_id, checkout_session_id, test_clock_id, status, anchor, interval, interval_count, current_period_start,
       current_period_end, cancel_at_period_end, canceled_at, latest_invoice_id, created_at)
     select account, true, 'fsub_' || id, 'fcus_' || owner, 'fcs_' || id,
       case when n % 10 = 1 then 'fclk_' || id when n % 10 = 2 then 'fclk_' || lpad('1', 26, '0') end,
       (array['active', 'active', 'active', 'canceled', 'trialing', 'past_due', 'active', 'active', 'paused', 'active'])[1 + n % 10], at, 'month', 1, at,
       at + interval '1 month' + case when n % 10 in (1, 2) then interval '3 years' else interval '0' end, n % 20 = 0 or n % 10 in (1, 2),
       case when n % 10 = 3 then at end, 'fin_' || id, at ${rows}`,
    `subscription_items (${scope}, subscription_id, id, position, price_id, quantity, unit_amount_cents, created_at, updated_at)
     select account, true, 'fsub_' || id, 'fsubi_' || id, 0, 'fprice_' || id, 1, 100, at, at ${rows}`,
    `invoices (${scope}, id, subscription_id, customer_id, checkout_session_id, status, collection_method, total_cents, amount_paid_cents, period_start,
       period_end, paid_at, created_at)
     select account, true, 'fin_' || id, 'fsub_' || owner, 'fcus_' || owner, 'fcs_' || id, 'paid', 'charge_automatically', 100, 100, at,
       at + interval '1 month', at, at ${rows}`,
    // Half of the mails of one receipt were asked for again.
    `receipts (${scope}, id, checkout_session_id, subscription_id, email, amount_cents, content, created_at)
     select account, true, 'frcpt_' || id, 'fcs_' || id, case when heavy then 'fsub_' || owner else 'fsub_' || id end, 'jo@example.com', 100, '{}', at ${rows}`,
    `receipt_mails (${scope}, id, receipt_id, cause, status, next_try_at, sent_at, created_at)
     select account, true, 'frml_' || id, case when n % 2 = 0 then 'frcpt_' || id else 'frcpt_' || owner end, null,
       case when n % ${each / 10} = 0 then 'pending' else 'sent' end, case when n % ${each / 10} = 0 then now() - interval '1 minute' end,
       case when n % ${each / 10} > 0 then at end, at ${rows}`,
    ...seededEvents(each),
  ]);
}
