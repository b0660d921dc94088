-- eligo: no-transaction
-- Those that owe with a card, to charge them once the card was updated.
create index concurrently if not exists subscriptions_owing_by_default on subscriptions (account_id, test_mode, default_payment_method_id, id)
  where status in ('past_due', 'unpaid');
create index concurrently if not exists subscriptions_owing_by_backup on subscriptions (account_id, test_mode, backup_payment_method_id, id)
  where status in ('past_due', 'unpaid');
