-- eligo: no-transaction
-- What the job `post-entries` still has to post; of a release before this one, everything.
create index concurrently if not exists ledger_entries_to_post on refunds.ledger_entries (post_at) where post_at is not null;
create index concurrently if not exists ledger_entries_to_post_of_account on refunds.ledger_entries (account_id, test_mode, post_at) where post_at is not null;
