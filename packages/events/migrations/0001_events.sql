-- Events leave by the outbox and arrive by the inbox. These three tables hold rows of every account, so they are among the named exceptions
-- from row-level security: the relay and the consumers work for the service and not for an account.

-- The durable copy of every event: written with the state change that it tells of, never deleted because it was published.
create table outbox (
  event_id text collate "C" primary key,
  aggregate_id text collate "C" not null,
  aggregate_seq bigint not null check (aggregate_seq > 0),
  type text collate "C" not null,
  account_id text collate "C" not null,
  test_mode boolean not null,
  -- The encoded event without its aggregate_seq, which the column holds. Null once retention has blanked it.
  payload bytea,
  created_at timestamptz(3) not null default now(),
  published_at timestamptz(3),
  stream_seq bigint check (stream_seq > 0),
  constraint published_has_place check ((published_at is null) = (stream_seq is null)),
  constraint outbox_aggregate unique (aggregate_id, aggregate_seq)
);

create index outbox_unpublished on outbox (event_id) where published_at is null and payload is not null;
-- Two events in one place of the stream are the proof that the stream has lost what it acknowledged.
create unique index outbox_stream_seq on outbox (stream_seq) where stream_seq is not null;
create index outbox_published on outbox (published_at) where payload is not null;

-- What was last known of the stream that the outbox is published to.
create table outbox_stream (
  stream text collate "C" primary key,
  created text not null
);

-- Which events a consumer has dealt with: what makes at-least-once delivery take effect once.
create table inbox (
  consumer text collate "C" not null,
  event_id text collate "C" not null,
  handled_at timestamptz(3) not null default now(),
  primary key (consumer, event_id)
);
create index inbox_handled on inbox (handled_at);

-- Events that a consumer failed to deal with twenty times. They are worked off by hand or by `redrive`.
create table dead_letters (
  consumer text collate "C" not null,
  event_id text collate "C" not null,
  type text collate "C" not null,
  account_id text collate "C" not null,
  test_mode boolean not null,
  payload bytea not null,
  -- The name and code of the error; never its text, which may quote a row.
  error text not null,
  deliveries integer not null,
  created_at timestamptz(3) not null default now(),
  primary key (consumer, event_id)
);

revoke update, delete on outbox, inbox from :"role";
grant update (published_at, stream_seq) on outbox to :"role";

grant select, delete on outbox, inbox to eligo_finder;
grant update (payload) on outbox to eligo_finder;

-- Retention. An event's last trace of an aggregate stays, without its contents: the next event counts on from it.
create function prune_events(outbox_days integer, inbox_days integer, batch integer) returns bigint
  language plpgsql security definer set search_path = :"schema", pg_temp
  as $$
  declare
    blanked bigint;
    deleted bigint;
    forgotten bigint;
  begin
    if outbox_days < 7 then
      raise exception 'the outbox is kept for 7 days at least';
    end if;
    if inbox_days < 31 or inbox_days < outbox_days then
      raise exception 'the inbox is kept longer than the stream (30 days) and the outbox';
    end if;
    with old as (
      select o.event_id, exists (
        select from outbox later where later.aggregate_id = o.aggregate_id and later.aggregate_seq > o.aggregate_seq
      ) as followed
      from outbox o
      where o.payload is not null and o.published_at < now() - make_interval(days => outbox_days)
      order by o.published_at limit batch
    ), gone as (
      delete from outbox o using old where o.event_id = old.event_id and old.followed returning 1
    ), blank as (
      update outbox o set payload = null from old where o.event_id = old.event_id and not old.followed returning 1
    )
    select (select count(*) from gone), (select count(*) from blank) into deleted, blanked;
    with old as (
      select consumer, event_id from inbox
      where handled_at < now() - make_interval(days => inbox_days) order by handled_at limit batch
    ), gone as (
      delete from inbox i using old where (i.consumer, i.event_id) = (old.consumer, old.event_id) returning 1
    )
    select count(*) from gone into forgotten;
    return deleted + blanked + forgotten;
  end
  $$;
alter function prune_events(integer, integer, integer) owner to eligo_finder;
