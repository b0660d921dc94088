-- eligo: no-transaction
-- The list of balance transactions, by its filters. That by source has an index.
create index concurrently if not exists balance_transactions_by_type on refunds.balance_transactions (account_id, test_mode, type, id);
create index concurrently if not exists balance_transactions_by_session on refunds.balance_transactions (account_id, test_mode, checkout_session_id, id)
  where checkout_session_id is not null;
