-- The breaker of an endpoint waits as long as its receiver has been away, and lets a retry through that the account asks for.
alter table webhooks.endpoints add column unreachable_since timestamptz, add column retry_asked_at timestamptz;
