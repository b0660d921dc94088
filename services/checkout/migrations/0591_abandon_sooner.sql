-- An attempt that was never sent is given up three seconds after its lease, in place of a minute: it moved nothing, its card is locked for other payments, and its client, told to
-- ask again after a second, has by then resumed it or left.
create or replace function checkout.due_charge_work(most integer)
returns table (kind text, account_id text, test_mode boolean, id text)
language sql stable security definer set search_path = checkout, pg_temp as $$
  (select 'attempt', d.account_id, d.test_mode, d.id from (
    (select a.account_id, a.test_mode, a.id, a.next_check_at from checkout.charge_attempts a
      where a.status = 'sending' and a.next_check_at <= now() and a.lease_until < now()
      order by a.next_check_at limit most)
    union all
    (select a.account_id, a.test_mode, a.id, a.next_check_at from checkout.charge_attempts a
      where a.status = 'unknown' and a.next_check_at <= now() and a.lease_until < now()
      order by a.next_check_at limit most)
    ) d order by d.next_check_at limit most)
  union all
  (select 'abandoned', a.account_id, a.test_mode, a.id from checkout.charge_attempts a
    where a.status = 'created' and a.next_check_at <= now() and a.lease_until < now() - interval '3 seconds'
      and a.driver <> 'invoice' and not (a.driver = 'page' and exists (
        select from checkout.payment_plans p
         where p.account_id = a.account_id and p.test_mode = a.test_mode and p.session_id = a.subject_id
           and p.state in ('running', 'releasing')))
    order by a.next_check_at limit most)
  union all
  (select case when o.capture_id is null then 'operation' else 'capture' end, o.account_id, o.test_mode, o.id
    from checkout.intent_operations o
    where o.status = 'pending' and o.next_check_at <= now() and o.lease_until < now()
    order by o.next_check_at limit most)
  union all
  (select 'plan', p.account_id, p.test_mode, p.session_id from checkout.payment_plans p
    where p.state in ('running', 'releasing') and p.next_check_at <= now() and p.lease_until < now()
    order by p.next_check_at limit most)
  union all
  (select 'lapsed', p.account_id, p.test_mode, p.session_id from checkout.payment_plans p
    where p.state = 'awaiting_second_card' and p.release_at <= now()
    order by p.release_at limit most)
$$;

create or replace function checkout.charge_work_turns(after_account text, after_mode boolean, accounts integer, each integer)
returns table (kind text, account_id text, test_mode boolean, id text)
language plpgsql stable security definer set search_path = checkout, pg_temp as $$
declare
  is_any boolean;
begin
  account_id := after_account;
  test_mode := after_mode;
  for step in 1..accounts loop
    select w.account_id, w.test_mode into account_id, test_mode from (
      (select a.account_id, a.test_mode from checkout.charge_attempts a
        where a.status in ('created', 'sending', 'unknown') and (a.status <> 'created' or a.driver <> 'invoice')
          and (a.account_id, a.test_mode) > (charge_work_turns.account_id, charge_work_turns.test_mode)
        order by a.account_id, a.test_mode limit 1)
      union all
      (select o.account_id, o.test_mode from checkout.intent_operations o
        where o.status = 'pending' and (o.account_id, o.test_mode) > (charge_work_turns.account_id, charge_work_turns.test_mode)
        order by o.account_id, o.test_mode limit 1)
      union all
      (select p.account_id, p.test_mode from checkout.payment_plans p
        where p.state in ('running', 'releasing') and (p.account_id, p.test_mode) > (charge_work_turns.account_id, charge_work_turns.test_mode)
        order by p.account_id, p.test_mode limit 1)
      union all
      (select p.account_id, p.test_mode from checkout.payment_plans p
        where p.state = 'awaiting_second_card' and (p.account_id, p.test_mode) > (charge_work_turns.account_id, charge_work_turns.test_mode)
        order by p.account_id, p.test_mode limit 1)
      ) w order by w.account_id, w.test_mode limit 1;
    exit when not found;
    is_any := false;
    for kind, id in
      (select 'attempt', a.id from checkout.charge_attempts a
        where a.account_id = charge_work_turns.account_id and a.test_mode = charge_work_turns.test_mode
          and a.status = 'sending' and a.next_check_at <= now() and a.lease_until < now()
        order by a.next_check_at limit each)
      union all
      (select 'attempt', a.id from checkout.charge_attempts a
        where a.account_id = charge_work_turns.account_id and a.test_mode = charge_work_turns.test_mode
          and a.status = 'unknown' and a.next_check_at <= now() and a.lease_until < now()
        order by a.next_check_at limit each)
      union all
      (select 'abandoned', a.id from checkout.charge_attempts a
        where a.account_id = charge_work_turns.account_id and a.test_mode = charge_work_turns.test_mode
          and a.status = 'created' and a.next_check_at <= now() and a.lease_until < now() - interval '3 seconds'
          and a.driver <> 'invoice' and not (a.driver = 'page' and exists (
            select from checkout.payment_plans p
             where p.account_id = a.account_id and p.test_mode = a.test_mode and p.session_id = a.subject_id
               and p.state in ('running', 'releasing')))
        order by a.next_check_at limit each)
      union all
      (select case when o.capture_id is null then 'operation' else 'capture' end, o.id from checkout.intent_operations o
        where o.account_id = charge_work_turns.account_id and o.test_mode = charge_work_turns.test_mode
          and o.status = 'pending' and o.next_check_at <= now() and o.lease_until < now()
        order by o.next_check_at limit each)
      union all
      (select 'plan', p.session_id from checkout.payment_plans p
        where p.account_id = charge_work_turns.account_id and p.test_mode = charge_work_turns.test_mode
          and p.state in ('running', 'releasing') and p.next_check_at <= now() and p.lease_until < now()
        order by p.next_check_at limit each)
      union all
      (select 'lapsed', p.session_id from checkout.payment_plans p
        where p.account_id = charge_work_turns.account_id and p.test_mode = charge_work_turns.test_mode
          and p.state = 'awaiting_second_card' and p.release_at <= now()
        order by p.release_at limit each)
    loop
      is_any := true;
      return next;
    end loop;
    if not is_any then
      kind := null;
      id := null;
      return next;
    end if;
  end loop;
end $$;

create or replace function checkout.next_charge_work() returns timestamptz
  language sql stable security definer set search_path = checkout, pg_temp as $$
  select least(
    (select least(min(greatest(d.next_check_at, d.lease_until)), case when count(*) = 100 then max(d.next_check_at) end) from (
      select a.next_check_at, a.lease_until from checkout.charge_attempts a
       where a.status = 'sending' order by a.next_check_at limit 100) d),
    (select least(min(greatest(d.next_check_at, d.lease_until)), case when count(*) = 100 then max(d.next_check_at) end) from (
      select a.next_check_at, a.lease_until from checkout.charge_attempts a
       where a.status = 'unknown' order by a.next_check_at limit 100) d),
    (select least(min(greatest(d.next_check_at, d.lease_until + interval '3 seconds')),
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
