-- Finds work across accounts; answers ids only, and whoever asks then works in each account's own context.

create policy finder_reads on webhooks.endpoints for select to eligo_finder using (true);
create policy finder_reads on webhooks.deliveries for select to eligo_finder using (true);
create policy finder_reads on webhooks.events for select to eligo_finder using (true);
create policy finder_reads on webhooks.lanes for select to eligo_finder using (true);
grant select on webhooks.endpoints, webhooks.lanes, webhooks.deliveries, webhooks.events to eligo_finder;

-- Endpoints with a delivery that this process may send now: nobody else has the lane. Steps from one endpoint that has pending deliveries to
-- the next by the index, so that a backlog of ten thousand behind one dead receiver is one step and hides nobody.
create function webhooks.due_endpoints(at timestamptz, asking text, most integer)
  returns table (account_id text, test_mode boolean, endpoint_id text)
  language sql volatile security definer set search_path = webhooks, pg_temp as $$
  with recursive lane as (
    (select d.account_id, d.test_mode, d.endpoint_id from webhooks.deliveries d
      where d.status = 'pending'
      order by d.account_id, d.test_mode, d.endpoint_id limit 1)
    union all
    select n.account_id, n.test_mode, n.endpoint_id
      from lane l
      cross join lateral (
        select d.account_id, d.test_mode, d.endpoint_id from webhooks.deliveries d
         where d.status = 'pending'
           and (d.account_id, d.test_mode, d.endpoint_id) > (l.account_id, l.test_mode, l.endpoint_id)
         order by d.account_id, d.test_mode, d.endpoint_id limit 1
      ) n
  )
  select l.account_id, l.test_mode, l.endpoint_id
    from lane l
    join webhooks.endpoints e on e.account_id = l.account_id and e.test_mode = l.test_mode and e.id = l.endpoint_id
    join webhooks.lanes own on own.account_id = l.account_id and own.test_mode = l.test_mode and own.endpoint_id = l.endpoint_id
   where e.status = 'enabled' and e.deleted_at is null and (e.open_until is null or e.open_until <= at)
     and (own.lease_until is null or own.lease_until <= now() or own.owner = asking)
     and exists (
       select 1 from webhooks.deliveries d
        where d.account_id = l.account_id and d.test_mode = l.test_mode and d.endpoint_id = l.endpoint_id
          and d.status = 'pending' and d.next_attempt_at <= at
     )
   limit most
$$;

-- Accounts that hold events older than they are kept.
create function webhooks.scopes_with_old_events(before timestamptz, most integer)
  returns table (account_id text, test_mode boolean)
  language sql stable security definer set search_path = webhooks, pg_temp as $$
  select distinct o.account_id, o.test_mode
    from (select e.account_id, e.test_mode from webhooks.events e where e.created_at < before order by e.created_at limit most) o
$$;

alter function webhooks.due_endpoints(timestamptz, text, integer) owner to eligo_finder;
alter function webhooks.scopes_with_old_events(timestamptz, integer) owner to eligo_finder;
revoke all on function webhooks.due_endpoints(timestamptz, text, integer) from public;
revoke all on function webhooks.scopes_with_old_events(timestamptz, integer) from public;
grant execute on function webhooks.due_endpoints(timestamptz, text, integer) to eligo_webhooks;
grant execute on function webhooks.scopes_with_old_events(timestamptz, integer) to eligo_webhooks;
