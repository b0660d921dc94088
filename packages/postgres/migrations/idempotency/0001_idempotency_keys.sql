-- Which request has used an Idempotency-Key, and the bytes that answered it (reliability: confirm).
create table idempotency_keys (
  account_id text collate "C" not null,
  test_mode boolean not null,
  -- Method and path, and for keys that hold per body the body's hash too (decisions 1.1).
  endpoint text collate "C" not null,
  key text collate "C" not null check (octet_length(key) between 1 and 255),
  request_hash bytea not null check (octet_length(request_hash) = 32),
  state text not null default 'in_progress' check (state in ('in_progress', 'finished')),
  -- What the request has begun; also the operation id by which it is resumed.
  attempt_id text collate "C",
  -- Each claim raises it: whoever holds an older one has lost the key.
  epoch integer not null default 1,
  lease_until timestamptz(3) not null,
  status integer check (status between 200 and 599),
  body bytea,
  created_at timestamptz(3) not null default now(),
  finished_at timestamptz(3),
  primary key (account_id, test_mode, endpoint, key),
  constraint finished_has_answer check (
    (state = 'finished') = (status is not null) and (state = 'finished') = (body is not null)
  )
);

create index idempotency_keys_attempt on idempotency_keys (account_id, test_mode, attempt_id) where attempt_id is not null;
create index idempotency_keys_created on idempotency_keys (created_at);

alter table idempotency_keys enable row level security;
alter table idempotency_keys force row level security;
create policy scope on idempotency_keys to :"role"
  using (
    account_id = nullif(current_setting('eligo.account_id', true), '')
    and test_mode = (nullif(current_setting('eligo.test_mode', true), ''))::boolean
  );

-- Keys outlive every retry: 30 days. What is still in progress is never pruned, it may have begun a charge.
grant select, delete on idempotency_keys to eligo_finder;
create policy finder_sees on idempotency_keys for select to eligo_finder using (true);
create policy finder_prunes on idempotency_keys for delete to eligo_finder
  using (state = 'finished' and created_at < now() - interval '30 days');

create function prune_idempotency_keys(batch integer) returns bigint
  language sql security definer set search_path = :"schema", pg_temp
  as $$
    with old as (
      select account_id, test_mode, endpoint, key from idempotency_keys
      where state = 'finished' and created_at < now() - interval '30 days'
      order by created_at limit batch
    ), gone as (
      delete from idempotency_keys k using old
      where (k.account_id, k.test_mode, k.endpoint, k.key) = (old.account_id, old.test_mode, old.endpoint, old.key)
      returning 1
    )
    select count(*) from gone
  $$;
alter function prune_idempotency_keys(integer) owner to eligo_finder;
