-- No name of a shop replaces a newer one, whichever statement stores it, as with `account_features`.
create function billing.guard_shop_name() returns trigger language plpgsql set search_path = billing, pg_temp as $$
begin
  if new.version <= old.version then
    raise exception 'name % of account % is not newer than %', new.version, new.account_id, old.version
      using errcode = 'check_violation', constraint = 'shop_names_ascend';
  end if;
  return new;
end $$;
create trigger guard_shop_name before update on billing.shop_names
  for each row execute function billing.guard_shop_name();
