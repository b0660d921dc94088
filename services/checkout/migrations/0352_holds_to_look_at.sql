-- eligo: no-transaction
create index concurrently if not exists payment_intents_hold_due on checkout.payment_intents (hold_check_at) where status = 'requires_capture';
