-- eligo: no-transaction
-- The few deleted clocks that something may still be on, among any number of clocks.
create index concurrently if not exists test_clocks_to_leave on checkout.test_clocks (account_id, test_mode, id)
  where deleted_at is not null and left_at is null;
