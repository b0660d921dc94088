-- The time zone whose days the receipts, invoices and mails of an account name, by its IANA name. That of an account that was given none is New York's.
alter table gateway.accounts
  add column time_zone text collate "C" not null default 'America/New_York'
    constraint accounts_time_zone_check check (time_zone ~ '^[A-Za-z][A-Za-z0-9_+/-]{1,63}$');

-- The time zones of accounts, until billing has recorded them: its commands and mails have no request that carries one. As features_to_tell: the trigger queues every
-- change, whoever makes it, and billing never lets an older one replace a newer one. Billing takes an account that it was told nothing of for one of the default,
-- which those that are there now have.
create table gateway.time_zones_to_tell (
  account_id text collate "C" primary key,
  time_zone text not null,
  version bigint generated always as identity unique
);
revoke update, truncate on gateway.time_zones_to_tell from :"role";

create function gateway.queue_time_zone() returns trigger language plpgsql as $$
begin
  delete from gateway.time_zones_to_tell where account_id = new.account_id;
  insert into gateway.time_zones_to_tell (account_id, time_zone) values (new.account_id, new.time_zone);
  perform pg_notify('eligo_gateway_statements', '');
  return null;
end $$;
create trigger queue_new_time_zone after insert on gateway.accounts
  for each row execute function gateway.queue_time_zone();
create trigger queue_changed_time_zone after update on gateway.accounts
  for each row when (old.time_zone is distinct from new.time_zone) execute function gateway.queue_time_zone();

-- As before, with the time zones. The locks are in the order in which the triggers of one change take them, which is that of their names.
create or replace function gateway.raise_versions_to_tell() returns void
  language plpgsql security definer set search_path = gateway, pg_temp as $$
declare
  least bigint;
begin
  lock table gateway.features_to_tell, gateway.shop_names_to_tell, gateway.statements_to_tell, gateway.time_zones_to_tell
    in share row exclusive mode;
  least := floor(extract(epoch from clock_timestamp()) * 1000000);
  if (select last_value < least from gateway.features_to_tell_version_seq) then
    perform setval('gateway.features_to_tell_version_seq', least);
  end if;
  if (select last_value < least from gateway.shop_names_to_tell_version_seq) then
    perform setval('gateway.shop_names_to_tell_version_seq', least);
  end if;
  if (select last_value < least from gateway.statements_to_tell_version_seq) then
    perform setval('gateway.statements_to_tell_version_seq', least);
  end if;
  if (select last_value < least from gateway.time_zones_to_tell_version_seq) then
    perform setval('gateway.time_zones_to_tell_version_seq', least);
  end if;
end $$;
