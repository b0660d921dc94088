-- eligo: no-transaction
create index concurrently if not exists processor_transactions_by_time on refunds.processor_transactions
  (account_id, test_mode, processor, processor_account, created_at);
