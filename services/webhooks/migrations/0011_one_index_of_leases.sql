-- eligo: no-transaction
-- No statement reads it any more.
drop index concurrently if exists webhooks.lanes_in_use;
