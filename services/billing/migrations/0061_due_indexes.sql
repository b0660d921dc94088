-- eligo: no-transaction
-- What is due by the wall clock: in all accounts; and in each, so that an account with few due subscriptions does not wait behind one with many.
create index concurrently if not exists subscriptions_by_work_time on subscriptions (work_at) where work_at is not null;
create index concurrently if not exists subscriptions_of_account_by_work_time on subscriptions (account_id, test_mode, work_at) where work_at is not null;
create index concurrently if not exists subscriptions_of_clock_by_due_time on subscriptions (account_id, test_mode, test_clock_id, due_at)
  where test_clock_id is not null and due_at is not null;
create unique index concurrently if not exists invoices_by_number on invoices (account_id, test_mode, number) where number is not null;
-- A subscription owes for one period at a time.
create unique index concurrently if not exists invoices_one_open on invoices (account_id, test_mode, subscription_id)
  where subscription_id is not null and status in ('draft', 'open');
