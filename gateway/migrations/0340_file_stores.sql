-- Where the content of a file is: in `file_parts`, or in an object store. The files of earlier releases are in Postgres.
alter table gateway.files add column store text collate "C" not null default 'postgres';
alter table gateway.files add constraint files_store_check check (store in ('postgres', 's3')) not valid;

-- What an object store has cannot be counted here: the gateway writes all parts before it stores the file.
create or replace function gateway.guard_file() returns trigger language plpgsql as $$
declare
  parts record;
begin
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

create or replace function gateway.guard_file_part() returns trigger language plpgsql as $$
begin
  perform from gateway.files f where f.account_id = new.account_id and f.test_mode = new.test_mode and f.id = new.file_id
    and f.state = 'receiving' and f.store = 'postgres' for share;
  if not found then
    raise exception 'file % takes no more parts', new.file_id
      using errcode = 'check_violation', constraint = 'files_are_stored_once';
  end if;
  return new;
end $$;
