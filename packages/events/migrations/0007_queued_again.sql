-- An event that is republished is days old, and is not late. Its wait begins when it is queued again. Null for an event that is queued with its
-- creation, so that the column costs those nothing.
alter table outbox_queue add column queued_again_at timestamptz(3);
