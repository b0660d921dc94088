-- As 0521, but by the index of the time since which an attempt is in doubt: attempts that wait for their customers, all of which were read before the limit, are not
-- read. `greatest` passes over a missing `authenticate_until`. A bitmap would have all that is in doubt before the first is counted.
create or replace function checkout.charge_work_waiting(older_than interval)
  returns table (attempts_in_doubt bigint, plans bigint, holds bigint)
  language sql stable security definer set search_path = checkout, pg_temp set enable_bitmapscan = off as $$
  select
    (select count(*) from (select from checkout.charge_attempts a
      where a.status = 'sending' and greatest(a.created_at, a.authenticate_until) < now() - older_than
      order by greatest(a.created_at, a.authenticate_until) limit 1000) counted)
    + (select count(*) from (select from checkout.charge_attempts a
      where a.status = 'unknown' and greatest(a.created_at, a.authenticate_until) < now() - older_than
      order by greatest(a.created_at, a.authenticate_until) limit 1000) counted),
    (select count(*) from (select from checkout.payment_plans p
      where p.state in ('running', 'releasing') and p.lease_until < now() order by p.next_check_at limit 1000) counted),
    (select count(*) from (select from checkout.intent_operations o
      where o.status = 'pending' and o.created_at < now() - older_than order by o.next_check_at limit 1000) counted)
$$;
