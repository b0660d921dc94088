-- Events of the processor, each stored once before it is answered. They move nothing: an unsettled attempt that one is about is checked sooner.
create table checkout.processor_events (
  account_id text collate "C" not null,
  test_mode boolean not null,
  processor text collate "C" not null,
  id text collate "C" not null,
  type text collate "C" not null,
  object_id text collate "C" not null,
  created_at timestamptz(3) not null,
  received_at timestamptz(3) not null default clock_timestamp(),
  primary key (account_id, test_mode, processor, id)
);
alter table checkout.processor_events enable row level security;
alter table checkout.processor_events force row level security;
create policy own_rows on checkout.processor_events for all
  using (account_id = nullif(current_setting('eligo.account_id', true), '') and test_mode = nullif(current_setting('eligo.test_mode', true), '')::boolean);
create policy finder_reads on checkout.processor_events for select to eligo_finder using (true);
create policy finder_prunes on checkout.processor_events for delete to eligo_finder using (received_at < now() - interval '45 days');
grant select, delete on checkout.processor_events to eligo_finder;
revoke update, delete on checkout.processor_events from eligo_checkout;
create index processor_events_received on checkout.processor_events (received_at);

create function checkout.prune_processor_events(batch integer) returns bigint
  language sql security definer set search_path = checkout, pg_temp set enable_hashjoin = off set enable_mergejoin = off as $$
  with old as (
    select account_id, test_mode, processor, id from checkout.processor_events
    where received_at < now() - interval '45 days' order by received_at limit batch
  ), gone as (
    delete from checkout.processor_events e using old
    where (e.account_id, e.test_mode, e.processor, e.id) = (old.account_id, old.test_mode, old.processor, old.id)
    returning 1
  )
  select count(*) from gone
$$;
alter function checkout.prune_processor_events(integer) owner to eligo_finder;
revoke all on function checkout.prune_processor_events(integer) from public;
grant execute on function checkout.prune_processor_events(integer) to eligo_checkout;
