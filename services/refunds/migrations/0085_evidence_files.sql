-- Files that a partner gives as evidence, on their way to the processor. A row is one file in one field of one dispute: its key makes the processor store the
-- file once, however often the upload is sent.
create table refunds.evidence_files (
  account_id text collate "C" not null,
  test_mode boolean not null,
  dispute_id text collate "C" not null,
  field text collate "C" not null check (field in ('cancellation_policy', 'customer_communication', 'customer_signature',
    'duplicate_charge_documentation', 'receipt', 'refund_policy', 'service_documentation', 'shipping_documentation', 'uncategorized_file')),
  file_id text collate "C" not null,
  type text collate "C" not null check (type in ('pdf', 'png', 'jpeg')),
  size_bytes integer not null check (size_bytes between 1 and 4500000),
  upload_key text collate "C" not null,
  -- Raised when the processor keeps an error under the key: only another key can still store the file.
  attempt integer not null default 1 check (attempt > 0),
  processor_file_id text collate "C",
  -- When content that waits here is deleted, because the upload was given up. Null where no content waits.
  content_until timestamptz(3),
  created_at timestamptz(3) not null default clock_timestamp(),
  primary key (account_id, test_mode, dispute_id, field, file_id),
  foreign key (account_id, test_mode, dispute_id) references refunds.disputes,
  constraint no_content_waits_once_uploaded check (processor_file_id is null or content_until is null)
);
create unique index evidence_files_at_the_processor on refunds.evidence_files (account_id, test_mode, dispute_id, processor_file_id)
  where processor_file_id is not null;
create index evidence_files_to_clear on refunds.evidence_files (content_until) where content_until is not null;

-- The content, until the processor has it.
create table refunds.evidence_parts (
  account_id text collate "C" not null,
  test_mode boolean not null,
  dispute_id text collate "C" not null,
  field text collate "C" not null,
  file_id text collate "C" not null,
  part smallint not null check (part between 0 and 4),
  bytes bytea not null check (length(bytes) between 1 and 1048576),
  primary key (account_id, test_mode, dispute_id, field, file_id, part),
  foreign key (account_id, test_mode, dispute_id, field, file_id) references refunds.evidence_files
);
alter table refunds.evidence_parts alter column bytes set storage external;

do $$
declare name text;
begin
  foreach name in array array['evidence_files', 'evidence_parts'] loop
    execute format('alter table refunds.%I enable row level security', name);
    execute format('alter table refunds.%I force row level security', name);
    execute format('create policy own_rows on refunds.%I using (account_id = nullif(current_setting(''eligo.account_id'', true), '''')'
      ' and test_mode = (nullif(current_setting(''eligo.test_mode'', true), ''''))::boolean)', name);
  end loop;
end $$;
revoke update, delete, truncate on refunds.evidence_files from eligo_refunds;
grant update (attempt, processor_file_id, content_until) on refunds.evidence_files to eligo_refunds;
revoke update, truncate on refunds.evidence_parts from eligo_refunds;

-- A dispute takes so many files in all its fields, those that were replaced included. The caller holds the dispute's lock.
create function refunds.guard_new_evidence_file() returns trigger language plpgsql as $$
begin
  if (select count(*) from refunds.evidence_files f
       where f.account_id = new.account_id and f.test_mode = new.test_mode and f.dispute_id = new.dispute_id) >= 100 then
    raise exception 'dispute % takes no more files', new.dispute_id
      using errcode = 'check_violation', constraint = 'evidence_files_of_a_dispute';
  end if;
  return new;
end $$;
create trigger guard_new_evidence_file before insert on refunds.evidence_files
  for each row execute function refunds.guard_new_evidence_file();

create function refunds.guard_evidence_file() returns trigger language plpgsql as $$
begin
  if old.processor_file_id is not null then
    raise exception 'file % is at the processor', old.file_id
      using errcode = 'check_violation', constraint = 'evidence_files_are_uploaded_once';
  end if;
  if new.attempt < old.attempt then
    raise exception 'file % counts its attempts', old.file_id
      using errcode = 'check_violation', constraint = 'evidence_attempts_are_counted';
  end if;
  return new;
end $$;
create trigger guard_evidence_file before update on refunds.evidence_files for each row execute function refunds.guard_evidence_file();

-- The lock makes a part and the end of the upload wait for each other.
create function refunds.guard_evidence_part() returns trigger language plpgsql as $$
begin
  perform from refunds.evidence_files f where f.account_id = new.account_id and f.test_mode = new.test_mode
    and f.dispute_id = new.dispute_id and f.field = new.field and f.file_id = new.file_id and f.content_until is not null for share;
  if not found then
    raise exception 'file % takes no content', new.file_id
      using errcode = 'check_violation', constraint = 'evidence_content_waits';
  end if;
  return new;
end $$;
create trigger guard_evidence_part before insert on refunds.evidence_parts for each row execute function refunds.guard_evidence_part();

-- Content of uploads that were given up, by account: the job deletes each in its own account's context.
create function refunds.stale_evidence(most integer)
  returns table (account_id text, test_mode boolean, dispute_id text, field text, file_id text)
  language sql stable security definer set search_path = refunds, pg_temp as $$
  select f.account_id, f.test_mode, f.dispute_id, f.field, f.file_id from refunds.evidence_files f
   where f.content_until <= now() order by f.content_until limit most
$$;
create policy finder_reads on refunds.evidence_files for select to eligo_finder using (true);
grant select on refunds.evidence_files to eligo_finder;
alter function refunds.stale_evidence(integer) owner to eligo_finder;
revoke all on function refunds.stale_evidence(integer) from public;
grant execute on function refunds.stale_evidence(integer) to eligo_refunds;
