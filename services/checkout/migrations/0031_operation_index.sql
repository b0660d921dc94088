-- eligo: no-transaction
-- The attempts of an operation of billing, the latest first. Only invoices have one.
create index concurrently charge_attempts_by_operation on checkout.charge_attempts (account_id, test_mode, operation_id, created_at desc)
  where operation_id is not null;
