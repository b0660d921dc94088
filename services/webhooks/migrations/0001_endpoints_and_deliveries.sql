-- Events as partners see them, where they are sent, and how the sending went.

create table webhooks.endpoints (
  account_id text collate "C" not null,
  test_mode boolean not null,
  id text collate "C" not null,
  url text not null check (length(url) between 1 and 2048),
  events text[] not null check (cardinality(events) between 1 and 200),
  status text collate "C" not null check (status in ('enabled', 'disabled')),
  -- Failures in a row that say that the receiver is down; a success clears all three.
  failures_in_row integer not null default 0 check (failures_in_row >= 0),
  failing_since timestamptz(3),
  open_until timestamptz(3),
  created_at timestamptz(3) not null,
  disabled_at timestamptz(3),
  deleted_at timestamptz(3),
  version bigint not null default 1,
  primary key (account_id, test_mode, id),
  constraint disabled_at_a_time check ((status = 'disabled') = (disabled_at is not null)),
  constraint open_means_failing check (open_until is null or failing_since is not null)
);
create index endpoints_live on webhooks.endpoints (account_id, test_mode, id) where deleted_at is null;

-- Sealed under the keyring with the account as associated data. The current secret has no end; a rolled one signs beside it until its own.
create table webhooks.endpoint_secrets (
  account_id text collate "C" not null,
  test_mode boolean not null,
  endpoint_id text collate "C" not null,
  generation integer not null check (generation >= 1),
  sealed text not null,
  created_at timestamptz(3) not null default now(),
  expires_at timestamptz(3),
  primary key (account_id, test_mode, endpoint_id, generation),
  foreign key (account_id, test_mode, endpoint_id) references webhooks.endpoints (account_id, test_mode, id)
);
create unique index one_current_secret on webhooks.endpoint_secrets (account_id, test_mode, endpoint_id)
  where expires_at is null;

create table webhooks.events (
  account_id text collate "C" not null,
  test_mode boolean not null,
  id text collate "C" not null,
  event_type text collate "C" not null,
  -- The whole public body, its bytes fixed when the event was consumed.
  body bytea not null,
  request_id text collate "C" not null,
  traceparent text collate "C" not null,
  occurred_at timestamptz(3) not null,
  created_at timestamptz(3) not null default now(),
  primary key (account_id, test_mode, id)
);
create index events_by_type on webhooks.events (account_id, test_mode, event_type, id);
create index events_by_age on webhooks.events (created_at);

-- Who sends to an endpoint: one process at a time, for as long as its lease is renewed. So a claim of many deliveries is one write and not
-- many, and the bound on requests under way to one receiver holds over all processes.
create table webhooks.lanes (
  account_id text collate "C" not null,
  test_mode boolean not null,
  endpoint_id text collate "C" not null,
  owner text collate "C",
  lease_until timestamptz(3),
  -- Grows with every change of hands.
  epoch integer not null default 0,
  primary key (account_id, test_mode, endpoint_id),
  foreign key (account_id, test_mode, endpoint_id) references webhooks.endpoints (account_id, test_mode, id)
) with (fillfactor = 50);

-- Every attempt writes a row here and one of attempts, so there are as few indexes as can be: the keys serve the lists too.
create table webhooks.deliveries (
  account_id text collate "C" not null,
  test_mode boolean not null,
  id text collate "C" not null,
  endpoint_id text collate "C" not null,
  event_id text collate "C" not null,
  event_type text collate "C" not null,
  status text collate "C" not null check (status in ('pending', 'succeeded', 'exhausted')),
  -- Attempts of the present round; a retry that an account asks for begins a new round.
  attempts integer not null default 0 check (attempts >= 0),
  next_attempt_at timestamptz(3),
  last_response_status integer,
  last_error text,
  delivered_at timestamptz(3),
  created_at timestamptz(3) not null,
  primary key (account_id, test_mode, endpoint_id, id),
  constraint one_delivery_for_each_endpoint_and_event unique (account_id, test_mode, event_id, endpoint_id),
  foreign key (account_id, test_mode, endpoint_id) references webhooks.endpoints (account_id, test_mode, id),
  foreign key (account_id, test_mode, event_id) references webhooks.events (account_id, test_mode, id) on delete cascade,
  constraint pending_has_a_time check ((status = 'pending') = (next_attempt_at is not null)),
  constraint delivered_at_a_time check (status <> 'succeeded' or delivered_at is not null)
);
create index deliveries_due on webhooks.deliveries (account_id, test_mode, endpoint_id, next_attempt_at, id)
  where status = 'pending';

create table webhooks.attempts (
  account_id text collate "C" not null,
  test_mode boolean not null,
  delivery_id text collate "C" not null,
  started_at timestamptz(3) not null,
  -- The lane's, by which two processes that both believed to hold it are told apart.
  epoch integer not null,
  duration_ms integer not null check (duration_ms >= 0),
  response_status integer,
  error text,
  primary key (account_id, test_mode, delivery_id, started_at, epoch)
);

do $$
declare
  name text;
begin
  foreach name in array array['endpoints', 'endpoint_secrets', 'events', 'lanes', 'deliveries', 'attempts'] loop
    execute format('alter table webhooks.%I enable row level security', name);
    execute format('alter table webhooks.%I force row level security', name);
    execute format(
      'create policy own_rows on webhooks.%I using (account_id = nullif(current_setting(''eligo.account_id'', true), '''')'
      ' and test_mode = (nullif(current_setting(''eligo.test_mode'', true), ''''))::boolean)',
      name
    );
    execute format('grant select, insert, update, delete on webhooks.%I to eligo_webhooks', name);
  end loop;
end $$;

-- What was sent is not rewritten.
revoke update on webhooks.events, webhooks.attempts from eligo_webhooks;
