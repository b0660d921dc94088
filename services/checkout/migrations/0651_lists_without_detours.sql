-- eligo: no-transaction
-- A list passes over deleted customers, of which any number may be the newest.
create index concurrently if not exists customers_there on checkout.customers (account_id, test_mode, id) where deleted_at is null;
-- Of a status and a mode together: each may be in most sessions, and both in few.
create index concurrently if not exists sessions_by_status_and_mode on checkout.sessions (account_id, test_mode, status, mode, id);
