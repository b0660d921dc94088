-- Accounts whose customers agree that their other card pays what their health card refuses at a renewal.
create table backup_agreements (
  account_id text collate "C" not null,
  test_mode boolean not null,
  recorded_at timestamptz(3) not null default now(),
  primary key (account_id, test_mode)
);
alter table backup_agreements enable row level security;
alter table backup_agreements force row level security;
create policy account_scope on backup_agreements using (
  account_id = nullif(current_setting('eligo.account_id', true), '')
  and test_mode = (nullif(current_setting('eligo.test_mode', true), ''))::boolean);

alter table invoices
  -- The health card refused its part in the last try, so the other card pays all that is left.
  add column health_refused boolean not null default false,
  -- The other card, where it was refused for good after the health card was refused.
  add column refused_backup_payment_method_id text collate "C";

create function guard_refused_health_card() returns trigger language plpgsql set search_path = billing, pg_temp as $$
begin
  if not exists (select from backup_agreements where account_id = new.account_id and test_mode = new.test_mode) then
    raise exception 'the other card pays what the health card refused only where that is agreed'
      using errcode = 'check_violation', constraint = 'backup_is_agreed';
  end if;
  return new;
end $$;
create trigger guard_refused_health_card before update of health_refused on invoices for each row
  when (new.health_refused and not old.health_refused) execute function guard_refused_health_card();
