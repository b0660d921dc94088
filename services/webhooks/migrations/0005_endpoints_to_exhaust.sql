-- Endpoints that get nothing more and have deliveries that are still pending: of a backlog only the first are given up with the endpoint, for a
-- statement that changed all of a million would be ended by its time limit, and the endpoint could be neither disabled nor deleted. Steps
-- from one endpoint that has pending deliveries to the next, as due_endpoints does.
create function webhooks.endpoints_to_exhaust(most integer)
  returns table (account_id text, test_mode boolean, endpoint_id text)
  language sql stable security definer set search_path = webhooks, pg_temp as $$
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
   where e.status = 'disabled'
   limit most
$$;
alter function webhooks.endpoints_to_exhaust(integer) owner to eligo_finder;
revoke all on function webhooks.endpoints_to_exhaust(integer) from public;
grant execute on function webhooks.endpoints_to_exhaust(integer) to eligo_webhooks;
