-- A file of an erased customer whose content is in an object store expires at once, without its name: only the gateway's job can delete there. Nothing else of
-- a stored file changes.
create or replace function gateway.guard_file() returns trigger language plpgsql as $$
declare
  parts record;
begin
  if old.state = 'stored' and new.filename = 'erased' and new.expires_at <= old.expires_at
     and to_jsonb(new) - 'filename' - 'expires_at' = to_jsonb(old) - 'filename' - 'expires_at' then
    return new;
  end if;
  if old.state <> 'receiving' or new.state <> 'stored' then
    raise exception 'file % is %', old.id, old.state using errcode = 'check_violation', constraint = 'files_are_stored_once';
  end if;
  if old.store = 'postgres' then
    select count(*) as number, max(p.part) as last, sum(length(p.bytes)) as bytes into parts
      from gateway.file_parts p where p.account_id = old.account_id and p.test_mode = old.test_mode and p.file_id = old.id;
    if parts.bytes is distinct from new.size_bytes or parts.last is distinct from parts.number - 1 then
      raise exception 'the parts of file % are not all there', old.id
        using errcode = 'check_violation', constraint = 'file_is_the_sum_of_its_parts';
    end if;
  end if;
  insert into gateway.file_usage as u (account_id, test_mode, files, bytes) values (new.account_id, new.test_mode, 1, new.size_bytes)
    on conflict (account_id, test_mode) do update set files = u.files + 1, bytes = u.bytes + excluded.bytes;
  return new;
end $$;
