-- eligo: no-transaction
create index concurrently if not exists payment_intents_held on checkout.payment_intents (account_id, test_mode, hold_check_at)
  where status = 'requires_capture';
