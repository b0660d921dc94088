-- eligo: no-transaction
-- What the reconciliation report names one by one, by day: payouts, and what may be in suspense.
create index concurrently if not exists ledger_payouts_by_time on refunds.ledger_transactions (account_id, test_mode, occurred_at, id)
  where kind = 'payout';
create index concurrently if not exists ledger_suspense_by_time on refunds.ledger_transactions (account_id, test_mode, occurred_at, id)
  where processor_transaction_id is not null
    and (kind = 'other' or kind in ('charge', 'refund') and source_id is null or net_cents <> amount_cents - fee_cents);
