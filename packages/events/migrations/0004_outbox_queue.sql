-- The outbox becomes append-only: what waits to be published stands in a narrow queue, and where the stream holds what was published stands in
-- one row a minute. Marking a row of the outbox rewrote it, with its payload and four index entries; the columns published_at and stream_seq
-- and their indexes serve the previous release alone.

-- Events that are to be published. The trigger below fills it, for every insert into the outbox.
create table outbox_queue (
  event_id text collate "C" primary key
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000, autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 20000);

-- Where the stream holds what was published in a minute. A minute's row is updated in place (no index but the key), so that this costs
-- one small record for each batch, and some 65,000 rows for the 45 days that they are kept.
create table outbox_positions (
  minute timestamptz(0) primary key,
  -- The first place taken in this minute; null when every event was stored before.
  first_seq bigint check (first_seq > 0),
  last_seq bigint not null check (last_seq > 0),
  -- The lowest id among the events published in this minute, and among those that were published for the first time.
  oldest_event_id text collate "C" not null,
  oldest_new_event_id text collate "C",
  ended_at timestamptz(3) not null default clock_timestamp(),
  constraint places_in_order check (first_seq <= last_seq)
) with (fillfactor = 50);

-- What retention has deleted: the highest number of an aggregate's events, from which aggregates without rows count on, and the newest event.
create table outbox_pruned (
  only_row boolean primary key default true check (only_row),
  aggregate_seq bigint not null,
  event_id text collate "C" not null
);
insert into outbox_pruned (aggregate_seq, event_id) values (0, '');

-- A repair that is under way publishes the outbox from after_event_id to last_event_id again, oldest first.
alter table outbox_repairs
  add column after_event_id text collate "C",
  add column last_event_id text collate "C",
  add column began_after_event_id text collate "C",
  add column finished_at timestamptz(3);
grant update (events, after_event_id, finished_at) on outbox_repairs to :"role";

create function queue_event() returns trigger language plpgsql as $$
  begin
    insert into :"schema".outbox_queue (event_id) select event_id from appended;
    return null;
  end
  $$;
create trigger queue_event after insert on outbox referencing new table as appended for each statement execute function queue_event();

-- The previous release marks the rows of the outbox. Queue and positions follow it while both run.
create function follow_published_mark() returns trigger language plpgsql as $$
  begin
    if new.published_at is null then
      insert into :"schema".outbox_queue (event_id) values (new.event_id) on conflict do nothing;
      return null;
    end if;
    delete from :"schema".outbox_queue where event_id = new.event_id;
    insert into :"schema".outbox_positions as p (minute, last_seq, oldest_event_id, oldest_new_event_id)
      values (date_trunc('minute', clock_timestamp()), new.stream_seq, new.event_id, new.event_id)
      on conflict (minute) do update set last_seq = greatest(p.last_seq, excluded.last_seq), ended_at = excluded.ended_at,
        oldest_event_id = least(p.oldest_event_id, excluded.oldest_event_id),
        oldest_new_event_id = least(p.oldest_new_event_id, excluded.oldest_new_event_id);
    return null;
  end
  $$;
create trigger follow_published_mark after update of published_at on outbox for each row
  when (new.published_at is distinct from old.published_at) execute function follow_published_mark();

-- Two events in one place of the stream are the proof that the stream has lost what it acknowledged.
create function guard_places() returns trigger language plpgsql as $$
  declare
    taken bigint;
  begin
    select p.last_seq into taken from :"schema".outbox_positions p order by p.minute desc limit 1;
    if new.first_seq <= taken then
      raise exception 'place % of the stream is taken, up to %', new.first_seq, taken
        using errcode = 'unique_violation', constraint = 'places_ascend';
    end if;
    return new;
  end
  $$;
create trigger places_ascend before insert on outbox_positions for each row execute function guard_places();

-- What the previous release has published, and still has to.
insert into outbox_queue select event_id from outbox where published_at is null and payload is not null;
insert into outbox_positions (minute, last_seq, oldest_event_id)
  select date_trunc('minute', clock_timestamp()), last_seq, ''
  from (select max(stream_seq) as last_seq from outbox where stream_seq is not null) marked where last_seq is not null;

revoke update on outbox_queue from :"role";
revoke insert, update, delete on outbox_pruned from :"role";
grant select on outbox_queue, outbox_positions, outbox_repairs to eligo_finder;
grant delete on outbox_positions to eligo_finder;
grant select, update on outbox_pruned to eligo_finder;

-- Retention. What is deleted was published (it is not in the queue), for the first time more than outbox_days ago (it is older than whatever was
-- published since), and is not to be published again by a repair. Nothing stays of it but the highest number.
create or replace function prune_events(outbox_days integer, inbox_days integer, batch integer) returns bigint
  language plpgsql security definer set search_path = :"schema", pg_temp
  as $$
  declare
    kept_from text collate "C";
    deleted bigint;
    forgotten bigint;
    passed bigint;
  begin
    if outbox_days < 7 then
      raise exception 'the outbox is kept for 7 days at least';
    end if;
    if inbox_days < 31 or inbox_days < outbox_days then
      raise exception 'the inbox is kept longer than the stream (30 days) and the outbox';
    end if;
    select coalesce(least(
        (select min(q.event_id) from outbox_queue q),
        (select min(p.oldest_new_event_id) from outbox_positions p
          where p.minute > now() - make_interval(days => outbox_days, mins => 1)),
        (select min(r.after_event_id) from outbox_repairs r where r.finished_at is null)
      ), '~') into kept_from;
    -- Of the oldest rows alone: those that are not old enough end the search.
    with oldest as (
      select o.event_id, o.created_at, o.published_at from outbox o where o.event_id < kept_from order by o.event_id limit batch
    ), gone as (
      delete from outbox o using oldest where o.event_id = oldest.event_id
        and oldest.created_at < now() - make_interval(days => outbox_days)
        and (oldest.published_at is null or oldest.published_at < now() - make_interval(days => outbox_days))
      returning o.event_id, o.aggregate_seq
    ), noted as (
      update outbox_pruned p set aggregate_seq = greatest(p.aggregate_seq, g.aggregate_seq), event_id = greatest(p.event_id, g.event_id)
      from (select max(aggregate_seq) as aggregate_seq, max(event_id) as event_id from gone) g where g.event_id is not null
    )
    select count(*) from gone into deleted;
    with old as (
      select consumer, event_id from inbox
      where handled_at < now() - make_interval(days => inbox_days) order by handled_at limit batch
    ), gone as (
      delete from inbox i using old where (i.consumer, i.event_id) = (old.consumer, old.event_id) returning 1
    )
    select count(*) from gone into forgotten;
    -- The stream keeps nothing that long.
    with gone as (
      delete from outbox_positions where minute < (select max(minute) from outbox_positions) - make_interval(days => 45) returning 1
    )
    select count(*) from gone into passed;
    return deleted + forgotten + passed;
  end
  $$;
