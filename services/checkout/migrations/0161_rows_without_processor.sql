-- eligo: no-transaction
-- What the job `fill-processor-accounts` still has to write; empty once it is done.
create index concurrently if not exists payment_methods_without_processor on checkout.payment_methods (account_id, test_mode, id)
  where processor is null;
create index concurrently if not exists customers_without_processor on checkout.customers (account_id, test_mode, id)
  where processor is null and processor_customer_id is not null;
create index concurrently if not exists setup_intents_without_processor on checkout.setup_intents (account_id, test_mode, id)
  where processor is null;
create index concurrently if not exists payment_intents_without_processor on checkout.payment_intents (account_id, test_mode, id)
  where processor is null;
create index concurrently if not exists charge_attempts_without_processor on checkout.charge_attempts (account_id, test_mode, id)
  where processor is null;
