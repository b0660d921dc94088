-- eligo: no-transaction
-- So that accounts take turns: the charge attempts of one that are to be resumed, those that are due longest first.
create index concurrently if not exists charge_attempts_to_sweep_by_account on checkout.charge_attempts (account_id, test_mode, status, next_check_at)
  where status in ('created', 'sending', 'unknown') and (status <> 'created' or driver <> 'invoice');
