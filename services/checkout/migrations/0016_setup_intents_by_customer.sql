-- eligo: no-transaction
create index concurrently if not exists setup_intents_by_customer on checkout.setup_intents (account_id, test_mode, customer_id, id desc);
