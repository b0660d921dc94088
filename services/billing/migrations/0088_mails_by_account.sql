-- eligo: no-transaction
-- For the turns of accounts, and the mails of one of them.
create index concurrently if not exists receipt_mails_due_of_account on receipt_mails (account_id, test_mode, next_try_at) where status = 'pending';
create index concurrently if not exists notice_mails_due_of_account on notice_mails (account_id, test_mode, next_try_at) where status = 'pending';
