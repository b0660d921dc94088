-- Endpoints with a delivery that waits, a page after a place, each with the earliest time of its deliveries. Steps from one endpoint to the next by the
-- index, whose first entry of each is its earliest, so that a backlog of ten thousand behind one dead receiver is one step and hides none of the others.
create function webhooks.waiting_endpoints_after(most integer, after_account text, after_mode boolean, after_endpoint text)
  returns table (account_id text, test_mode boolean, endpoint_id text, next_attempt_at timestamptz, step integer)
  language sql stable security definer set search_path = webhooks, pg_temp as $$
  with recursive waiting as (
    (select d.account_id, d.test_mode, d.endpoint_id, d.next_attempt_at, 1 as step from webhooks.deliveries d
      where d.next_attempt_at is not null and (d.account_id, d.test_mode, d.endpoint_id) > (after_account, after_mode, after_endpoint)
      order by d.account_id, d.test_mode, d.endpoint_id, d.next_attempt_at limit 1)
    union all
    select n.account_id, n.test_mode, n.endpoint_id, n.next_attempt_at, w.step + 1
      from waiting w
      cross join lateral (
        select d.account_id, d.test_mode, d.endpoint_id, d.next_attempt_at from webhooks.deliveries d
         where d.next_attempt_at is not null
           and (d.account_id, d.test_mode, d.endpoint_id) > (w.account_id, w.test_mode, w.endpoint_id)
         order by d.account_id, d.test_mode, d.endpoint_id, d.next_attempt_at limit 1
      ) n
     where w.step < most
  )
  select w.account_id, w.test_mode, w.endpoint_id, w.next_attempt_at, w.step from waiting w
$$;

-- Of a page of waiting endpoints: those to which this process may send now (`due`); how long it takes until there is another of them (`next`); and where the
-- page ends, if it is not the last one (`place`).
create function webhooks.endpoints_to_send_after(
  at timestamptz, asking text, most integer, after_account text, after_mode boolean, after_endpoint text
) returns table (kind text, account_id text, test_mode boolean, endpoint_id text, due_in_ms double precision)
  language sql volatile security definer set search_path = webhooks, pg_temp as $$
  with page as materialized (
    select * from webhooks.waiting_endpoints_after(most, after_account, after_mode, after_endpoint)
  ), known as materialized (
    select p.account_id, p.test_mode, p.endpoint_id,
           1000 * greatest(
             extract(epoch from greatest(p.next_attempt_at, e.open_until) - at),
             case when own.owner <> asking then extract(epoch from own.lease_until - clock_timestamp()) end
           )::double precision as due_in_ms
      from page p
      cross join lateral (
        select e.open_until from webhooks.endpoints e
         where e.account_id = p.account_id and e.test_mode = p.test_mode and e.id = p.endpoint_id
           and e.status = 'enabled' and e.deleted_at is null offset 0) e
      cross join lateral (
        select l.owner, l.lease_until from webhooks.lanes l
         where l.account_id = p.account_id and l.test_mode = p.test_mode and l.endpoint_id = p.endpoint_id offset 0) own
  )
  (select 'due', k.account_id, k.test_mode, k.endpoint_id, 0 from known k where k.due_in_ms <= 0)
  union all
  (select 'next', null, null, null, min(k.due_in_ms) from known k where k.due_in_ms > 0 having count(*) > 0)
  union all
  (select 'place', p.account_id, p.test_mode, p.endpoint_id, null from page p where p.step = most)
$$;

-- Lanes of other processes that were handed deliveries, which are in no index of what waits: those whose lease has lapsed (`due`), and when the next lease
-- lapses (`next`). That may be earlier than the first of another process: of the leases that have not lapsed it reads a hundred, and a lane after them
-- lapses after the last of them. They are compared with now(), which an index can be read by.
create function webhooks.lapsed_lanes(asking text, most integer)
  returns table (kind text, account_id text, test_mode boolean, endpoint_id text, due_in_ms double precision)
  language sql volatile security definer set search_path = webhooks, pg_temp as $$
  (select 'due', l.account_id, l.test_mode, l.endpoint_id, 0 from webhooks.lanes l
    where l.lease_until <= now() and l.handed_from is not null and l.owner <> asking
    order by l.lease_until limit most)
  union all
  (select 'next', null, null, null,
          1000 * extract(epoch from least(
            min(n.lease_until) filter (where n.owner <> asking),
            case when count(*) = 100 then max(n.lease_until) end) - clock_timestamp())::double precision
     from (select l.lease_until, l.owner from webhooks.lanes l
            where l.lease_until > now() and l.handed_from is not null order by l.lease_until limit 100) n)
$$;

-- Of a page of waiting endpoints: those that get nothing more (`due`), and where the page ends, if it is not the last one (`place`). Of a backlog only the
-- first deliveries are given up with the endpoint: a statement that changed all of a million would be ended by its time limit, and the endpoint could
-- be neither disabled nor deleted.
create function webhooks.endpoints_to_exhaust_after(most integer, after_account text, after_mode boolean, after_endpoint text)
  returns table (kind text, account_id text, test_mode boolean, endpoint_id text)
  language sql stable security definer set search_path = webhooks, pg_temp as $$
  with page as materialized (
    select * from webhooks.waiting_endpoints_after(most, after_account, after_mode, after_endpoint)
  )
  (select 'due', p.account_id, p.test_mode, p.endpoint_id
     from page p
     cross join lateral (
       select from webhooks.endpoints e
        where e.account_id = p.account_id and e.test_mode = p.test_mode and e.id = p.endpoint_id and e.status = 'disabled' offset 0) e)
  union all
  (select 'place', p.account_id, p.test_mode, p.endpoint_id from page p where p.step = most)
$$;

alter function webhooks.waiting_endpoints_after(integer, text, boolean, text) owner to eligo_finder;
alter function webhooks.endpoints_to_send_after(timestamptz, text, integer, text, boolean, text) owner to eligo_finder;
alter function webhooks.lapsed_lanes(text, integer) owner to eligo_finder;
alter function webhooks.endpoints_to_exhaust_after(integer, text, boolean, text) owner to eligo_finder;
revoke all on function webhooks.waiting_endpoints_after(integer, text, boolean, text) from public, :"role";
revoke all on function webhooks.endpoints_to_send_after(timestamptz, text, integer, text, boolean, text) from public;
revoke all on function webhooks.lapsed_lanes(text, integer) from public;
revoke all on function webhooks.endpoints_to_exhaust_after(integer, text, boolean, text) from public;
grant execute on function webhooks.endpoints_to_send_after(timestamptz, text, integer, text, boolean, text) to :"role";
grant execute on function webhooks.lapsed_lanes(text, integer) to :"role";
grant execute on function webhooks.endpoints_to_exhaust_after(integer, text, boolean, text) to :"role";
