-- eligo: no-transaction
create index concurrently if not exists intent_operations_unsettled_by_account on checkout.intent_operations (account_id, test_mode, next_check_at)
  where status = 'pending';
