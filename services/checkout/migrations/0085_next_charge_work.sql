-- When the next charge work falls due, so that the sweep sleeps until then. It is never later than the time at which due_charge_work returns a row.
-- It may be earlier: of each kind the function reads the first hundred rows by next_check_at; a row after them is due after the last of them.
create function checkout.next_charge_work() returns timestamptz
  language sql stable security definer set search_path = checkout, pg_temp as $$
  select least(
    (select least(min(greatest(d.next_check_at, d.lease_until)), case when count(*) = 100 then max(d.next_check_at) end) from (
      select a.next_check_at, a.lease_until from checkout.charge_attempts a
       where a.status = 'sending' order by a.next_check_at limit 100) d),
    (select least(min(greatest(d.next_check_at, d.lease_until)), case when count(*) = 100 then max(d.next_check_at) end) from (
      select a.next_check_at, a.lease_until from checkout.charge_attempts a
       where a.status = 'unknown' order by a.next_check_at limit 100) d),
    (select least(min(greatest(d.next_check_at, d.lease_until + interval '60 seconds')),
        case when count(*) = 100 then max(d.next_check_at) end) from (
      select a.next_check_at, a.lease_until from checkout.charge_attempts a
       where a.status = 'created' and a.driver <> 'invoice' and not (a.driver = 'page' and exists (
         select from checkout.payment_plans p
          where p.account_id = a.account_id and p.test_mode = a.test_mode and p.session_id = a.subject_id
            and p.state in ('running', 'releasing')))
       order by a.next_check_at limit 100) d),
    (select least(min(greatest(d.next_check_at, d.lease_until)), case when count(*) = 100 then max(d.next_check_at) end) from (
      select o.next_check_at, o.lease_until from checkout.intent_operations o
       where o.status = 'pending' order by o.next_check_at limit 100) d),
    (select least(min(greatest(d.next_check_at, d.lease_until)), case when count(*) = 100 then max(d.next_check_at) end) from (
      select p.next_check_at, p.lease_until from checkout.payment_plans p
       where p.state in ('running', 'releasing') order by p.next_check_at limit 100) d),
    (select p.release_at from checkout.payment_plans p where p.state = 'awaiting_second_card' order by p.release_at limit 1))
$$;
alter function checkout.next_charge_work() owner to eligo_finder;
revoke all on function checkout.next_charge_work() from public;
grant execute on function checkout.next_charge_work() to :"role";
