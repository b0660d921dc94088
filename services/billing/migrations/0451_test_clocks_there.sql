-- eligo: no-transaction
-- A page of the clocks that were not deleted, behind any number of those that were.
create index concurrently if not exists test_clocks_there on test_clocks (account_id, test_mode, id) where deleted_at is null;
