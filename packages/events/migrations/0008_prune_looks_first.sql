-- Retention reads a batch of the outbox only where there is something to delete. It read thousands of rows an hour that were not old.
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
    -- Of the oldest rows alone, and of a batch of them only if one of the first is old.
    with first as (
      select o.created_at from outbox o where o.event_id < kept_from order by o.event_id limit 100
    ), oldest as (
      select o.event_id, o.created_at, o.published_at from outbox o where o.event_id < kept_from order by o.event_id
      limit (select case when bool_or(f.created_at < now() - make_interval(days => outbox_days)) then batch else 0 end from first f)
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
    -- An event's id begins with the time it was made, so the lowest ids are the oldest. A repair may have delivered an old event lately; its id stays.
    with recursive consumers as (
      (select i.consumer from inbox i order by i.consumer limit 1)
      union all
      select (select i.consumer from inbox i where i.consumer > c.consumer order by i.consumer limit 1) from consumers c
      where c.consumer is not null
    ), old as (
      select oldest.consumer, oldest.event_id from consumers c cross join lateral (
        select i.consumer, i.event_id, i.handled_at from inbox i where i.consumer = c.consumer order by i.event_id limit batch
      ) oldest
      where oldest.handled_at < now() - make_interval(days => inbox_days) limit batch
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
