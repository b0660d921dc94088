-- eligo: no-transaction
create unique index concurrently if not exists setup_intents_one_backup on checkout.setup_intents (account_id, test_mode, backup_of)
  where backup_of is not null;
