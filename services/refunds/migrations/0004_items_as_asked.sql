-- eligo: no-transaction
-- What an attempt asks the processor for is looked up here.
create unique index concurrently if not exists refund_items_as_asked on refunds.refund_items
  (account_id, test_mode, refund_id, payment_intent_id, processor_intent_id, amount_cents);
