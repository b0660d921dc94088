-- eligo: no-transaction
-- For the expired files of one store, by when they expired.
create index concurrently if not exists files_by_store_and_expiry on gateway.files (store, expires_at, id);
