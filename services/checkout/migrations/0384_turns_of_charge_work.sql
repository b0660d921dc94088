-- The accounts and modes after one that have charge work, at most `accounts`, and of each the work that is due longest, at most `each` of a kind: what
-- due_charge_work returns of these accounts. It is asked behind a backlog, so that an account with thousands of pieces of work keeps no other one waiting. An
-- account without due work gives a row without an id, so that the next look goes on behind it.
create function checkout.charge_work_turns(after_account text, after_mode boolean, accounts integer, each integer)
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
          and a.status = 'created' and a.next_check_at <= now() and a.lease_until < now() - interval '60 seconds'
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
alter function checkout.charge_work_turns(text, boolean, integer, integer) owner to eligo_finder;
revoke all on function checkout.charge_work_turns(text, boolean, integer, integer) from public;
grant execute on function checkout.charge_work_turns(text, boolean, integer, integer) to :"role";
