-- eligo: no-transaction
create index concurrently if not exists payment_intents_captured_elsewhere on checkout.payment_intents (hold_check_at)
  where status = 'requires_capture' and captured_elsewhere_cents is not null;
