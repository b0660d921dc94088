-- eligo: no-transaction
-- What a payout took, newest first.
create index concurrently if not exists balance_transactions_by_payout on refunds.balance_transactions (account_id, test_mode, payout_id, id)
  where payout_id is not null;
