-- eligo: no-transaction
-- For whether another dispute names a file.
create index concurrently if not exists evidence_files_by_file on refunds.evidence_files (account_id, test_mode, file_id);
