-- eligo: no-transaction
-- What is unsettled, by the time since which it is in doubt: those that wait for their customers are behind all that is counted.
create index concurrently if not exists charge_attempts_in_doubt
  on checkout.charge_attempts (status, greatest(created_at, authenticate_until)) where status in ('sending', 'unknown');
