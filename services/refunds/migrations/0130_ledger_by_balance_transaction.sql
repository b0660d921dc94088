-- eligo: no-transaction
-- By which the ledger check finds what settles a balance transaction, what moved for a dispute, and the transactions of a day.
create index concurrently if not exists ledger_transactions_by_balance_transaction on refunds.ledger_transactions
  (account_id, test_mode, balance_transaction_id) where balance_transaction_id is not null;
create index concurrently if not exists ledger_disputes_by_source on refunds.ledger_transactions (account_id, test_mode, source_id) where kind = 'dispute';
create index concurrently if not exists ledger_transactions_by_time on refunds.ledger_transactions (account_id, test_mode, occurred_at);
