-- Expired files of one store, behind the one that a run ended with: neither a store that is down nor a file that cannot be deleted holds up the others.
create function gateway.expired_files_of_store(which text, after_at timestamptz, after_id text, most integer)
  returns table (account_id text, test_mode boolean, id text, expires_at timestamptz)
  language sql stable security definer set search_path = gateway, pg_temp as $$
  select f.account_id, f.test_mode, f.id, f.expires_at from gateway.files f
    where f.store = which and (f.expires_at, f.id) > (after_at, after_id) and f.expires_at <= now()
    order by f.expires_at, f.id limit most
$$;
alter function gateway.expired_files_of_store(text, timestamptz, text, integer) owner to eligo_finder;
revoke all on function gateway.expired_files_of_store(text, timestamptz, text, integer) from public;
grant execute on function gateway.expired_files_of_store(text, timestamptz, text, integer) to :"role";
