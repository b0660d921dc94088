-- When the hold that is due first is to be looked at. While none is due, no account is visited.
create function checkout.next_hold() returns timestamptz
  language sql stable security definer set search_path = checkout, pg_temp as $$
  select i.hold_check_at from checkout.payment_intents i where i.status = 'requires_capture' order by i.hold_check_at limit 1
$$;
-- The accounts and modes after one that have a hold to look at, which take turns. While few holds are due, only their accounts are read. Behind a backlog every
-- account that holds money is asked, so that an account with thousands of due holds keeps no other one waiting.
create function checkout.hold_turns(at timestamptz, after_account text, after_mode boolean, most integer)
  returns table (account_id text, test_mode boolean, is_due boolean)
  language plpgsql stable security definer set search_path = checkout, pg_temp as $$
declare
  few constant integer := 200;
  is_backlog boolean;
begin
  select count(*) = few into is_backlog from (
    select from checkout.payment_intents i where i.status = 'requires_capture' and i.hold_check_at <= at limit few) due;
  if not is_backlog then
    return query
      select d.account_id, d.test_mode, true from (
        select i.account_id, i.test_mode from checkout.payment_intents i
         where i.status = 'requires_capture' and i.hold_check_at <= at order by i.hold_check_at limit few) d
       where (d.account_id, d.test_mode) > (after_account collate "C", after_mode)
       group by d.account_id, d.test_mode order by d.account_id, d.test_mode limit most;
    return;
  end if;
  return query
    with recursive turns as (
      (select i.account_id, i.test_mode, 1 as turn from checkout.payment_intents i
        where i.status = 'requires_capture' and (i.account_id, i.test_mode) > (after_account collate "C", after_mode)
        order by i.account_id, i.test_mode limit 1)
      union all
      select n.account_id, n.test_mode, t.turn + 1 from turns t cross join lateral (
        select i.account_id, i.test_mode from checkout.payment_intents i
         where i.status = 'requires_capture' and (i.account_id, i.test_mode) > (t.account_id, t.test_mode)
         order by i.account_id, i.test_mode limit 1) n
       where t.turn < most
    )
    select t.account_id, t.test_mode, exists (select from checkout.payment_intents i
      where i.account_id = t.account_id and i.test_mode = t.test_mode and i.status = 'requires_capture' and i.hold_check_at <= at)
      from turns t;
end $$;
-- How many holds somebody captured at the processor, counted up to a thousand.
create function checkout.count_captured_elsewhere() returns bigint
  language sql stable security definer set search_path = checkout, pg_temp as $$
  select count(*) from (select from checkout.payment_intents i
    where i.status = 'requires_capture' and i.captured_elsewhere_cents is not null limit 1000) counted
$$;
alter function checkout.next_hold() owner to eligo_finder;
alter function checkout.hold_turns(timestamptz, text, boolean, integer) owner to eligo_finder;
alter function checkout.count_captured_elsewhere() owner to eligo_finder;
revoke all on function checkout.next_hold(), checkout.hold_turns(timestamptz, text, boolean, integer), checkout.count_captured_elsewhere() from public;
grant execute on function checkout.next_hold(), checkout.hold_turns(timestamptz, text, boolean, integer), checkout.count_captured_elsewhere() to :"role";
