-- eligo: no-transaction
-- What the job `tell-journal` still has to tell.
create index concurrently if not exists ledger_entries_to_tell on checkout.ledger_entries (tell_at) where tell_at is not null and kind = 'capture';
create index concurrently if not exists ledger_entries_to_tell_of_account on checkout.ledger_entries (account_id, test_mode, tell_at)
  where tell_at is not null and kind = 'capture';
