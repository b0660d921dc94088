-- eligo: no-transaction
-- Whether a card was set up.
create index concurrently if not exists setup_intents_by_saved_card on checkout.setup_intents (account_id, test_mode, payment_method_id)
  where status = 'succeeded';
