-- eligo: no-transaction
-- By which the ledger check finds the attempts and the journal entries of an intent.
create index concurrently if not exists charge_attempts_by_intent on checkout.charge_attempts (account_id, test_mode, payment_intent_id);
create index concurrently if not exists ledger_entries_by_intent on checkout.ledger_entries (account_id, test_mode, payment_intent_id);
