-- eligo: no-transaction
-- Nothing reads the outbox by its marks since the queue stands beside it (0004), and retention finds an inbox's oldest ids by its primary key (0005).
-- Each event paid for three index entries here: two of its marks, which stay null, and one of the time it was handled.
drop index concurrently if exists outbox_unpublished;
drop index concurrently if exists outbox_published;
drop index concurrently if exists outbox_stream_seq;
drop index concurrently if exists inbox_handled;
