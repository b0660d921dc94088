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
  -- Whose turn it is: every claim counts, and whoever holds the latest one reports a failure.
  epoch integer not null default 0,
  lease_until timestamptz(3),
  last_response_status integer,
  last_error text,
  delivered_at timestamptz(3),
  created_at timestamptz(3) not null,
  primary key (account_id, test_mode, id),
  constraint one_delivery_for_each_endpoint_and_event unique (account_id, test_mode, endpoint_id, event_id),
  foreign key (account_id, test_mode, endpoint_id) references webhooks.endpoints (account_id, test_mode, id),
  foreign key (account_id, test_mode, event_id) references webhooks.events (account_id, test_mode, id) on delete cascade,
  constraint pending_has_a_time check ((status = 'pending') = (next_attempt_at is not null)),
  constraint only_pending_is_leased check (lease_until is null or status = 'pending'),
  constraint delivered_at_a_time check ((status = 'succeeded') <= (delivered_at is not null))
) with (fillfactor = 80);
create index deliveries_due on webhooks.deliveries (account_id, test_mode, endpoint_id, next_attempt_at, id)
  where status = 'pending';
create index deliveries_by_endpoint on webhooks.deliveries (account_id, test_mode, endpoint_id, id);
create index deliveries_by_event on webhooks.deliveries (account_id, test_mode, event_id);

create table webhooks.attempts (
  account_id text collate "C" not null,
  test_mode boolean not null,
  delivery_id text collate "C" not null,
  -- The claim under which it was made.
  epoch integer not null,
  started_at timestamptz(3) not null,
  duration_ms integer not null check (duration_ms >= 0),
  response_status integer,
  error text,
  primary key (account_id, test_mode, delivery_id, epoch),
  foreign key (account_id, test_mode, delivery_id) references webhooks.deliveries (account_id, test_mode, id) on delete cascade
);

do $$
declare
  name text;
begin
  foreach name in array array['endpoints', 'endpoint_secrets', 'events', 'deliveries', 'attempts'] loop
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
