/**
 * Statements that fill a ledger in which all agrees: half of its transactions post captures, half what the processor moved for them, over a hundred accounts and a
 * year. They run as a superuser whose `session_replication_role` is `replica`.
 */
export function* ledgerSeeds(payments: number): Generator<string> {
  const rows = `from (select n, 'facct_' || n % 100 as account, 1000 + n % 5000 as cents, 30 + n % 150 as fee,
    timestamptz '2026-01-01' + n * interval '365 days' / ${payments} as at from generate_series(1, ${payments}) n) s`;
  const at = `'sandbox'::refunds.processor, 'acct_1'`;
  const scope = 'account_id, test_mode';
  yield `insert into checkout.ledger_entries (${scope}, id, debit_account, credit_account, amount_cents, kind, payment_intent_id, source_id, created_at, tell_at)
    select account, false, 'fltx_e' || n, 'processor_balance', 'charges', cents, 'capture', 'fpi_' || n, 'fch_' || n, at, null ${rows}`;
  yield `insert into refunds.ledger_transactions (${scope}, id, kind, processor, processor_account, entry_id, amount_cents, processor_charge_id,
      balance_transaction_id, source_id, payment_intent_id, occurred_at)
    select account, false, 'fltx_p' || n, 'capture', ${at}, 'fltx_e' || n, cents, 'ch_' || n, 'fbtxn_' || n, 'fch_' || n, 'fpi_' || n, at ${rows}`;
  yield `insert into refunds.ledger_transactions (${scope}, id, kind, processor, processor_account, processor_transaction_id, amount_cents, fee_cents,
      net_cents, balance_transaction_id, source_id, payment_intent_id, occurred_at)
    select account, false, 'fltx_m' || n, 'charge', ${at}, 'txn_' || n, cents, fee, cents - fee, 'fbtxn_' || n, 'fch_' || n, 'fpi_' || n, at ${rows}`;
  yield `insert into refunds.ledger_postings (${scope}, transaction_id, ledger_account, amount_cents)
    select account, false, 'fltx_' || k || n, name, cents_of ${rows} cross join lateral (values ('p', 'receivable', cents), ('p', 'charges', - cents),
      ('m', 'processor_balance', cents - fee), ('m', 'fees', fee), ('m', 'receivable', - cents)) p (k, name, cents_of)`;
  yield `insert into refunds.processor_transactions (${scope}, processor, processor_account, id, type, reporting_category, amount_cents, fee_cents,
      application_fee_cents, net_cents, available_on, source_id, created_at, match_at)
    select account, false, ${at}, 'txn_' || n, 'charge', 'charge', cents, fee, 0, cents - fee, at, 'ch_' || n, at, null ${rows}`;
  yield `insert into refunds.balance_transactions (${scope}, id, type, amount_cents, fee_cents, status, available_on, source_id, reporting_category,
      created_at, processor, processor_account, processor_transaction_id, settled_cents)
    select account, false, 'fbtxn_' || n, 'charge', cents, fee, 'available', at, 'fch_' || n, 'charge', at, ${at}, 'txn_' || n, cents ${rows}`;
  // As the triggers sum them.
  yield `insert into refunds.ledger_totals (${scope}, grain, begins_on, processor, processor_account, ledger_account, amount_cents)
    select t.account_id, false, grain, date_trunc(grain, t.occurred_at at time zone 'UTC')::date, t.processor, t.processor_account, p.ledger_account,
           sum(p.amount_cents)
      from refunds.ledger_postings p join refunds.ledger_transactions t on (t.account_id, t.test_mode, t.id) = (p.account_id, p.test_mode, p.transaction_id)
      cross join (values ('day'), ('month')) g (grain) group by 1, 3, 4, 5, 6, 7`;
  yield `insert into refunds.ledger_activity (${scope}, day, processor, processor_account, cause, type, reporting_category, transactions, amount_cents,
      fee_cents, net_cents)
    select account_id, false, (occurred_at at time zone 'UTC')::date, processor, processor_account,
           case kind when 'capture' then 'journal' else 'balance' end, kind, case kind when 'capture' then '' else 'charge' end, count(*),
           sum(amount_cents), coalesce(sum(fee_cents), 0), coalesce(sum(net_cents), 0)
      from refunds.ledger_transactions group by 1, 3, 4, 5, 6, 7, 8`;
}
