-- The time zone whose days an invoice names: that of its account when it got its number. It stays. None in invoices of earlier releases, which name days of UTC. A process
-- of the release before writes none.
alter table billing.invoices add column time_zone text collate "C";
alter table billing.invoices add constraint invoices_time_zone check (time_zone <> '') not valid;

create function billing.guard_invoice_time_zone() returns trigger language plpgsql set search_path = billing, pg_temp as $$
begin
  raise exception 'the time zone of invoice % stays', old.id using errcode = 'check_violation', constraint = 'invoice_time_zone_stays';
end $$;
create trigger guard_invoice_time_zone before update of time_zone on billing.invoices
  for each row when (new.time_zone is distinct from old.time_zone) execute function billing.guard_invoice_time_zone();
