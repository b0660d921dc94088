-- eligo: no-transaction
-- The attempts that the sweeper finds. Those of invoices that were never sent are not among them: billing asks again, and finders passed over all of them.
create index concurrently if not exists charge_attempts_to_sweep on checkout.charge_attempts (status, next_check_at)
  where status in ('created', 'sending', 'unknown') and (status <> 'created' or driver <> 'invoice');
drop index concurrently if exists checkout.charge_attempts_unsettled_by_status;
