-- The time zone whose days the receipts and mails of an account name, as the gateway told it last. None: the default, New York's. Nothing older replaces it.
create table billing.time_zones (
  account_id text collate "C" not null,
  test_mode boolean not null,
  time_zone text not null check (time_zone <> ''),
  version bigint not null check (version > 0),
  recorded_at timestamptz(3) not null default clock_timestamp(),
  primary key (account_id, test_mode)
);
alter table billing.time_zones enable row level security;
alter table billing.time_zones force row level security;
create policy own_rows on billing.time_zones
  using (account_id = nullif(current_setting('eligo.account_id', true), '')
    and test_mode = (nullif(current_setting('eligo.test_mode', true), ''))::boolean);
revoke delete, truncate on billing.time_zones from :"role";

create function billing.guard_time_zone() returns trigger language plpgsql set search_path = billing, pg_temp as $$
begin
  if new.version <= old.version then
    raise exception 'time zone % of account % is not newer than %', new.version, new.account_id, old.version
      using errcode = 'check_violation', constraint = 'time_zones_ascend';
  end if;
  return new;
end $$;
create trigger guard_time_zone before update on billing.time_zones
  for each row execute function billing.guard_time_zone();
