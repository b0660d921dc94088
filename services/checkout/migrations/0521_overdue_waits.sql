-- As 0481, but what waited for its customer for longer than it may is in doubt again.
create or replace function checkout.charge_work_waiting(older_than interval)
  returns table (attempts_in_doubt bigint, plans bigint, holds bigint)
  language sql stable security definer set search_path = checkout, pg_temp as $$
  select
    (select count(*) from (select from checkout.charge_attempts a
      where a.status = 'sending' and a.created_at < now() - older_than
        and (a.authenticate_until is null or a.authenticate_until < now() - older_than) order by a.next_check_at limit 1000) counted)
    + (select count(*) from (select from checkout.charge_attempts a
      where a.status = 'unknown' and a.created_at < now() - older_than
        and (a.authenticate_until is null or a.authenticate_until < now() - older_than) order by a.next_check_at limit 1000) counted),
    (select count(*) from (select from checkout.payment_plans p
      where p.state in ('running', 'releasing') and p.lease_until < now() order by p.next_check_at limit 1000) counted),
    (select count(*) from (select from checkout.intent_operations o
      where o.status = 'pending' and o.created_at < now() - older_than order by o.next_check_at limit 1000) counted)
$$;
