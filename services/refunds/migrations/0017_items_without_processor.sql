-- eligo: no-transaction
-- What the job `fill-processor-accounts` still has to write; empty once it is done.
create index concurrently if not exists refund_items_without_processor on refunds.refund_items (account_id, test_mode, refund_id)
  where processor is null;
