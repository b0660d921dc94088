-- Files that partners upload, in parts of at most 1 MiB: an upload holds no more than one part in memory and no transaction open. A file is
-- `receiving` until its last part is there, and no read finds it before.
create table gateway.files (
  account_id text collate "C" not null,
  test_mode boolean not null,
  id text collate "C" not null,
  state text collate "C" not null default 'receiving' check (state in ('receiving', 'stored')),
  purpose text collate "C" check (purpose = 'dispute_evidence'),
  filename text check (length(filename) between 1 and 255),
  type text collate "C" check (type in ('pdf', 'png', 'jpeg')),
  size_bytes integer check (size_bytes between 1 and 10000000),
  created_at timestamptz(3) not null default clock_timestamp(),
  -- Of an upload: when it is given up.
  expires_at timestamptz(3) not null,
  primary key (account_id, test_mode, id),
  constraint stored_is_described check (
    (state = 'stored') = (purpose is not null and filename is not null and type is not null and size_bytes is not null)),
  constraint expires_after_its_creation check (expires_at > created_at)
);
create index files_by_expiry on gateway.files (expires_at, id);

create table gateway.file_parts (
  account_id text collate "C" not null,
  test_mode boolean not null,
  file_id text collate "C" not null,
  part smallint not null check (part between 0 and 9),
  bytes bytea not null check (length(bytes) between 1 and 1048576),
  primary key (account_id, test_mode, file_id, part),
  foreign key (account_id, test_mode, file_id) references gateway.files on delete cascade
);
-- Documents and pictures are compressed already.
alter table gateway.file_parts alter column bytes set storage external;

-- What an account stores in a mode. The trigger below counts, so no write can forget it.
create table gateway.file_usage (
  account_id text collate "C" not null,
  test_mode boolean not null,
  files integer not null check (files >= 0),
  bytes bigint not null check (bytes >= 0),
  primary key (account_id, test_mode),
  constraint files_within_quota check (files <= 10000 and bytes <= 10000000000)
);

do $$
declare name text;
begin
  foreach name in array array['files', 'file_parts', 'file_usage'] loop
    execute format('alter table gateway.%I enable row level security', name);
    execute format('alter table gateway.%I force row level security', name);
    execute format($policy$create policy account_scope on gateway.%I using (
      account_id = nullif(current_setting('eligo.account_id', true), '')
      and test_mode = (nullif(current_setting('eligo.test_mode', true), ''))::boolean)$policy$, name);
  end loop;
end $$;
revoke update, truncate on gateway.files, gateway.file_parts from :"role";
revoke delete, truncate on gateway.file_usage from :"role";
grant update (state, purpose, filename, type, size_bytes, expires_at) on gateway.files to :"role";

-- A file is stored once, when its parts are all there and are as long as it says, and never changes afterwards.
create function gateway.guard_file() returns trigger language plpgsql as $$
declare
  parts record;
begin
  if old.state <> 'receiving' or new.state <> 'stored' then
    raise exception 'file % is %', old.id, old.state using errcode = 'check_violation', constraint = 'files_are_stored_once';
  end if;
  select count(*) as number, max(p.part) as last, sum(length(p.bytes)) as bytes into parts
    from gateway.file_parts p where p.account_id = old.account_id and p.test_mode = old.test_mode and p.file_id = old.id;
  if parts.bytes is distinct from new.size_bytes or parts.last is distinct from parts.number - 1 then
    raise exception 'the parts of file % are not all there', old.id
      using errcode = 'check_violation', constraint = 'file_is_the_sum_of_its_parts';
  end if;
  insert into gateway.file_usage as u (account_id, test_mode, files, bytes) values (new.account_id, new.test_mode, 1, new.size_bytes)
    on conflict (account_id, test_mode) do update set files = u.files + 1, bytes = u.bytes + excluded.bytes;
  return new;
end $$;
create trigger guard_file before update on gateway.files for each row execute function gateway.guard_file();

create function gateway.guard_new_file() returns trigger language plpgsql as $$
begin
  if new.state <> 'receiving' then
    raise exception 'file % begins without its parts', new.id
      using errcode = 'check_violation', constraint = 'file_is_the_sum_of_its_parts';
  end if;
  return new;
end $$;
create trigger guard_new_file before insert on gateway.files for each row execute function gateway.guard_new_file();

-- The lock makes a part and the end of its upload wait for each other.
create function gateway.guard_file_part() returns trigger language plpgsql as $$
begin
  perform from gateway.files f where f.account_id = new.account_id and f.test_mode = new.test_mode and f.id = new.file_id
    and f.state = 'receiving' for share;
  if not found then
    raise exception 'file % takes no more parts', new.file_id
      using errcode = 'check_violation', constraint = 'files_are_stored_once';
  end if;
  return new;
end $$;
create trigger guard_file_part before insert on gateway.file_parts for each row execute function gateway.guard_file_part();

-- Parts leave with their file alone, which leaves when it has expired or its upload has failed.
create function gateway.uncount_file() returns trigger language plpgsql as $$
begin
  if old.state = 'stored' then
    update gateway.file_usage u set files = u.files - 1, bytes = u.bytes - old.size_bytes
      where u.account_id = old.account_id and u.test_mode = old.test_mode;
  end if;
  return null;
end $$;
create trigger uncount_file after delete on gateway.files for each row execute function gateway.uncount_file();

revoke delete on gateway.file_parts from :"role";

-- Files whose time is over, uploads that broke off among them, by account: the job deletes each in its own account's context.
create function gateway.expired_files(most integer) returns table (account_id text, test_mode boolean, id text)
  language sql stable security definer set search_path = gateway, pg_temp as $$
  select f.account_id, f.test_mode, f.id from gateway.files f where f.expires_at <= now() order by f.expires_at, f.id limit most
$$;
create policy finder_reads on gateway.files for select to eligo_finder using (true);
grant select on gateway.files to eligo_finder;
alter function gateway.expired_files(integer) owner to eligo_finder;
revoke all on function gateway.expired_files(integer) from public;
grant execute on function gateway.expired_files(integer) to :"role";
