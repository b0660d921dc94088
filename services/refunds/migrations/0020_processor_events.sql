-- Events of the processor, each stored once before it is answered. They say which object changed; its state is fetched.
create table refunds.processor_events (
  account_id text collate "C" not null,
  test_mode boolean not null,
  processor text collate "C" not null,
  id text collate "C" not null,
  type text collate "C" not null,
  object_id text collate "C" not null,
  -- The processor's time.
  created_at timestamptz(3) not null,
  received_at timestamptz(3) not null default clock_timestamp(),
  -- waiting for its object's state to be fetched, handled, or dropped: its object is not ours.
  status text collate "C" not null default 'waiting',
  checks integer not null default 0,
  -- Of one that waits: when it is due, or until when a process has it.
  next_check_at timestamptz(3) default clock_timestamp(),
  settled_at timestamptz(3),
  primary key (account_id, test_mode, processor, id)
);
alter table refunds.processor_events enable row level security;
alter table refunds.processor_events force row level security;
create policy own_rows on refunds.processor_events for all
  using (account_id = nullif(current_setting('eligo.account_id', true), '') and test_mode = nullif(current_setting('eligo.test_mode', true), '')::boolean);
create policy finder_reads on refunds.processor_events for select to eligo_finder using (true);
create policy finder_prunes on refunds.processor_events for delete to eligo_finder using (settled_at < now() - interval '45 days');
grant select, delete on refunds.processor_events to eligo_finder;
revoke delete on refunds.processor_events from eligo_refunds;

-- What waits, by account, so that the accounts take turns.
create index processor_events_waiting on refunds.processor_events (account_id, test_mode, next_check_at) where next_check_at is not null;
create index processor_events_due on refunds.processor_events (next_check_at) where next_check_at is not null;
create index processor_events_of_object on refunds.processor_events (account_id, test_mode, object_id) where next_check_at is not null;
create index processor_events_settled on refunds.processor_events (settled_at) where settled_at is not null;

create function refunds.guard_processor_event() returns trigger language plpgsql as $$
declare
  broken text;
begin
  if tg_op = 'UPDATE' and new.status <> old.status and old.status <> 'waiting' then
    raise exception 'an event of the processor does not move from % to %', old.status, new.status
      using errcode = 'check_violation', constraint = 'processor_event_state_table';
  end if;
  broken := case
    when not (new.status in ('waiting', 'handled', 'dropped')) then 'processor_events_status_check'
    when not ((new.status = 'waiting') = (new.next_check_at is not null)) then 'only_waiting_is_checked'
    when not ((new.status = 'waiting') = (new.settled_at is null)) then 'settled_has_a_time'
  end;
  if broken is not null then
    raise exception 'processor event % violates %', new.id, broken using errcode = 'check_violation', constraint = broken;
  end if;
  return new;
end $$;
create trigger guard_processor_event before insert or update on refunds.processor_events
  for each row execute function refunds.guard_processor_event();

-- The objects of due events: of so many accounts behind a place, those of each that are due longest. An account with none due has one row, without an object.
create function refunds.due_processor_events(after_account text, after_test_mode boolean, most_accounts integer, each integer)
  returns table (account_id text, test_mode boolean, object_id text)
  language sql volatile security definer set search_path = refunds, pg_temp as $$
  with recursive turns as (
    (select e.account_id, e.test_mode, 1 as turn from refunds.processor_events e
      where e.next_check_at is not null and (e.account_id, e.test_mode) > (after_account collate "C", after_test_mode)
      order by e.account_id, e.test_mode limit 1)
    union all
    select n.account_id, n.test_mode, t.turn + 1 from turns t cross join lateral (
      select e.account_id, e.test_mode from refunds.processor_events e
       where e.next_check_at is not null and (e.account_id, e.test_mode) > (t.account_id, t.test_mode)
       order by e.account_id, e.test_mode limit 1) n
     where t.turn < most_accounts
  )
  select t.account_id, t.test_mode, d.object_id from turns t left join lateral (
    select e.object_id from refunds.processor_events e
     where e.account_id = t.account_id and e.test_mode = t.test_mode and e.next_check_at <= clock_timestamp()
     order by e.next_check_at limit each) d on true
$$;

create function refunds.next_processor_event() returns timestamptz
  language sql stable security definer set search_path = refunds, pg_temp as $$
  select e.next_check_at from refunds.processor_events e where e.next_check_at is not null order by e.next_check_at limit 1
$$;

create function refunds.processor_events_in_doubt(after_seconds integer) returns bigint
  language sql stable security definer set search_path = refunds, pg_temp as $$
  select count(*) from (select from refunds.processor_events e
    where e.next_check_at is not null and e.received_at < now() - make_interval(secs => after_seconds)
    order by e.next_check_at limit 1000) counted
$$;

-- The processor lists events for 30 days; until then one that is listed must be known.
create function refunds.prune_processor_events(batch integer) returns bigint
  language sql security definer set search_path = refunds, pg_temp set enable_hashjoin = off set enable_mergejoin = off as $$
  with old as (
    select account_id, test_mode, processor, id from refunds.processor_events
    where settled_at < now() - interval '45 days' order by settled_at limit batch
  ), gone as (
    delete from refunds.processor_events e using old
    where (e.account_id, e.test_mode, e.processor, e.id) = (old.account_id, old.test_mode, old.processor, old.id)
    returning 1
  )
  select count(*) from gone
$$;
alter function refunds.due_processor_events(text, boolean, integer, integer) owner to eligo_finder;
alter function refunds.next_processor_event() owner to eligo_finder;
alter function refunds.processor_events_in_doubt(integer) owner to eligo_finder;
alter function refunds.prune_processor_events(integer) owner to eligo_finder;
revoke all on function refunds.due_processor_events(text, boolean, integer, integer), refunds.next_processor_event(),
  refunds.processor_events_in_doubt(integer), refunds.prune_processor_events(integer) from public;
grant execute on function refunds.due_processor_events(text, boolean, integer, integer), refunds.next_processor_event(),
  refunds.processor_events_in_doubt(integer), refunds.prune_processor_events(integer) to eligo_refunds;
