-- eligo: no-transaction
-- The refunds or fees of one payout, newest first. A payout holds all movements of its days, so neither filter alone finds a page of both.
create index concurrently if not exists balance_transactions_by_payout_and_type on refunds.balance_transactions (account_id, test_mode, payout_id, type, id)
  where payout_id is not null;
