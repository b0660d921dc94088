-- eligo: no-transaction
-- Each period is billed once. Invoices of changes within a period are not of a period.
create unique index concurrently if not exists invoices_one_of_a_period on invoices (account_id, test_mode, subscription_id, period_start)
  where subscription_id is not null and billing_reason is distinct from 'subscription_update';
drop index concurrently if exists invoices_once_per_period;
