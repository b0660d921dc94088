-- eligo: no-transaction
-- One call at a time to the processor for a hold, and one operation that ends it: several captures, then one end.
create unique index concurrently intent_operations_one_pending on checkout.intent_operations (account_id, test_mode, payment_intent_id)
  where status = 'pending';
create unique index concurrently intent_operations_one_end on checkout.intent_operations (account_id, test_mode, payment_intent_id)
  where status in ('pending', 'done') and ends_hold;
create index concurrently intent_operations_by_capture on checkout.intent_operations (account_id, test_mode, capture_id)
  where capture_id is not null;
drop index concurrently checkout.intent_operations_one_per_intent;
