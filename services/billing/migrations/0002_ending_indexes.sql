-- eligo: no-transaction
-- Who lives on a test clock ends by it and everybody else by the wall clock, so each has an index of its own: a look for what is due then reads
-- nothing of what ends later.
create index concurrently if not exists subscriptions_ending_by_the_wall_clock on subscriptions
  (least(cancel_at, case when cancel_at_period_end then current_period_end end))
  where status in ('trialing', 'active', 'past_due', 'paused', 'unpaid') and (cancel_at is not null or cancel_at_period_end)
    and test_clock_id is null;
create index concurrently if not exists subscriptions_ending_by_a_test_clock on subscriptions
  (account_id, test_mode, test_clock_id, least(cancel_at, case when cancel_at_period_end then current_period_end end))
  where status in ('trialing', 'active', 'past_due', 'paused', 'unpaid') and (cancel_at is not null or cancel_at_period_end)
    and test_clock_id is not null;
