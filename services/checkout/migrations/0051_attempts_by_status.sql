-- eligo: no-transaction
-- Unsettled attempts of one status, those that are due longest first.
create index concurrently charge_attempts_unsettled_by_status on checkout.charge_attempts (status, next_check_at)
  where status in ('created', 'sending', 'unknown');
drop index concurrently checkout.charge_attempts_unsettled;
