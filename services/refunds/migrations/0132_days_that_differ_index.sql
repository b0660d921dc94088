-- eligo: no-transaction
create index concurrently if not exists checked_days_that_differ on refunds.checked_days (account_id, test_mode, processor, processor_account, day)
  where differs;
