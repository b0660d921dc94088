-- eligo: contract
alter table webhooks.deliveries validate constraint time_means_pending;
drop index webhooks.deliveries_due;

-- Endpoints to which this process may send now, and in a last row without an endpoint how long it takes until there is another. Steps from one
-- endpoint that has waiting deliveries to the next by the index, whose first entry of each is its earliest, so that a backlog of ten thousand
-- behind one dead receiver is one step and hides nobody. Lanes whose owner died come besides: what it was handed is in no index.
create function webhooks.endpoints_to_send(at timestamptz, asking text, most integer)
  returns table (account_id text, test_mode boolean, endpoint_id text, due_in_ms double precision)
  language sql volatile security definer set search_path = webhooks, pg_temp as $$
  with recursive waiting as (
    (select d.account_id, d.test_mode, d.endpoint_id, d.next_attempt_at from webhooks.deliveries d
      where d.next_attempt_at is not null
      order by d.account_id, d.test_mode, d.endpoint_id, d.next_attempt_at limit 1)
    union all
    select n.account_id, n.test_mode, n.endpoint_id, n.next_attempt_at
      from waiting w
      cross join lateral (
        select d.account_id, d.test_mode, d.endpoint_id, d.next_attempt_at from webhooks.deliveries d
         where d.next_attempt_at is not null
           and (d.account_id, d.test_mode, d.endpoint_id) > (w.account_id, w.test_mode, w.endpoint_id)
         order by d.account_id, d.test_mode, d.endpoint_id, d.next_attempt_at limit 1
      ) n
  ), known as (
    select w.account_id, w.test_mode, w.endpoint_id,
           1000 * greatest(
             extract(epoch from greatest(w.next_attempt_at, e.open_until) - at),
             case when own.owner <> asking then extract(epoch from own.lease_until - clock_timestamp()) end
           )::double precision as due_in_ms
      from waiting w
      join webhooks.endpoints e on e.account_id = w.account_id and e.test_mode = w.test_mode and e.id = w.endpoint_id
      join webhooks.lanes own on own.account_id = w.account_id and own.test_mode = w.test_mode and own.endpoint_id = w.endpoint_id
     where e.status = 'enabled' and e.deleted_at is null
    union all
    select l.account_id, l.test_mode, l.endpoint_id,
           1000 * extract(epoch from l.lease_until - clock_timestamp())::double precision
      from webhooks.lanes l
     where l.lease_until is not null and l.handed_from is not null and l.owner <> asking
  )
  (select k.account_id, k.test_mode, k.endpoint_id, 0 from known k where k.due_in_ms <= 0 limit most)
  union all
  select null, null, null, min(k.due_in_ms) from known k where k.due_in_ms > 0
$$;
alter function webhooks.endpoints_to_send(timestamptz, text, integer) owner to eligo_finder;
revoke all on function webhooks.endpoints_to_send(timestamptz, text, integer) from public;
grant execute on function webhooks.endpoints_to_send(timestamptz, text, integer) to :"role";

create or replace function webhooks.endpoints_to_exhaust(most integer)
  returns table (account_id text, test_mode boolean, endpoint_id text)
  language sql stable security definer set search_path = webhooks, pg_temp as $$
  with recursive lane as (
    (select d.account_id, d.test_mode, d.endpoint_id from webhooks.deliveries d
      where d.next_attempt_at is not null
      order by d.account_id, d.test_mode, d.endpoint_id limit 1)
    union all
    select n.account_id, n.test_mode, n.endpoint_id
      from lane l
      cross join lateral (
        select d.account_id, d.test_mode, d.endpoint_id from webhooks.deliveries d
         where d.next_attempt_at is not null
           and (d.account_id, d.test_mode, d.endpoint_id) > (l.account_id, l.test_mode, l.endpoint_id)
         order by d.account_id, d.test_mode, d.endpoint_id limit 1
      ) n
  )
  select l.account_id, l.test_mode, l.endpoint_id
    from lane l
    join webhooks.endpoints e on e.account_id = l.account_id and e.test_mode = l.test_mode and e.id = l.endpoint_id
   where e.status = 'disabled'
   limit most
$$;
drop function webhooks.due_endpoints(timestamptz, text, integer);
