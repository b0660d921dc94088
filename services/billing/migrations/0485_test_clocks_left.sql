-- eligo: no-transaction
-- The clocks of each account that have more to do.
create index concurrently if not exists test_clocks_left on test_clocks (account_id, test_mode, id) where status = 'advancing' and deleted_at is null;
