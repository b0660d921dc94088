-- eligo: no-transaction
-- What waits for an attempt. The predicate names no column that a first success changes.
create index concurrently if not exists deliveries_waiting
  on webhooks.deliveries (account_id, test_mode, endpoint_id, next_attempt_at, id) where next_attempt_at is not null;
create index concurrently if not exists lanes_in_use on webhooks.lanes (lease_until) where lease_until is not null;
