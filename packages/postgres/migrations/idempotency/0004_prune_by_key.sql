-- Planned for any `batch`, one is expected to be a tenth of all rows, and was joined with all that is old: each batch read the whole backlog.
alter function prune_idempotency_keys(integer) set enable_hashjoin = off;
alter function prune_idempotency_keys(integer) set enable_mergejoin = off;
