-- eligo: no-transaction
-- No statement reads it any more.
drop index concurrently if exists refunds.refund_attempts_due;
