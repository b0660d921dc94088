-- eligo: no-transaction
create index concurrently if not exists events_by_record on webhooks.events (account_id, test_mode, record_id, id desc) where record_id is not null;
