-- Has the next versions of what services are told be above all that a service can have recorded, also where a backup took the sequences back: a sequence that was
-- raised counts from the microseconds of the clock, and less than a million changes are queued in a second. No sequence goes back. The locks let no change take a
-- version meanwhile, in the order in which the triggers of one change take them.
create function gateway.raise_versions_to_tell() returns void
  language plpgsql security definer set search_path = gateway, pg_temp as $$
declare
  least bigint;
begin
  lock table gateway.features_to_tell, gateway.shop_names_to_tell, gateway.statements_to_tell in share row exclusive mode;
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
end $$;
revoke all on function gateway.raise_versions_to_tell() from public;
grant execute on function gateway.raise_versions_to_tell() to :"role";
