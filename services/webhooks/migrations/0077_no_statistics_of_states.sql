-- These columns say whether a row has work. ANALYZE reads them when nearly no row has any, and the planner then finds a row by its key among all that have some. Without
-- statistics of theirs, it expects many (packages/postgres/src/expect-waiting-work.ts, ADR 3). Otherwise the lock of a lapsed lane can read all lanes that are handed on.
alter table webhooks.deliveries alter column next_attempt_at set statistics 0;
alter table webhooks.lanes alter column handed_from set statistics 0;
