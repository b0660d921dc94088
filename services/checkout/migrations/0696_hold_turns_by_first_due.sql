-- As journal_turns: of many due holds, or set-ups, the first of an account by the index tells whether the account's turn is due.
create or replace function checkout.hold_turns(at timestamptz, after_account text, after_mode boolean, most integer)
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
      (select i.account_id, i.test_mode, i.hold_check_at, 1 as turn from checkout.payment_intents i
        where i.status = 'requires_capture' and (i.account_id, i.test_mode) > (after_account collate "C", after_mode)
        order by i.account_id, i.test_mode, i.hold_check_at limit 1)
      union all
      select n.account_id, n.test_mode, n.hold_check_at, t.turn + 1 from turns t cross join lateral (
        select i.account_id, i.test_mode, i.hold_check_at from checkout.payment_intents i
         where i.status = 'requires_capture' and (i.account_id, i.test_mode) > (t.account_id, t.test_mode)
         order by i.account_id, i.test_mode, i.hold_check_at limit 1) n
       where t.turn < most
    )
    select t.account_id, t.test_mode, t.hold_check_at <= at from turns t;
end $$;

create or replace function checkout.set_up_turns(after_account text, after_mode boolean, most integer)
  returns table (account_id text, test_mode boolean, is_due boolean)
  language plpgsql stable security definer set search_path = checkout, pg_temp as $$
declare
  few constant integer := 200;
  is_backlog boolean;
begin
  select count(*) = few into is_backlog from (
    select from checkout.subscription_set_ups s where s.status in ('beginning', 'waiting') and s.next_check_at <= now() limit few) due;
  if not is_backlog then
    return query
      select d.account_id, d.test_mode, true from (
        select s.account_id, s.test_mode from checkout.subscription_set_ups s
         where s.status in ('beginning', 'waiting') and s.next_check_at <= now() order by s.next_check_at limit few) d
       where (d.account_id, d.test_mode) > (after_account collate "C", after_mode)
       group by d.account_id, d.test_mode order by d.account_id, d.test_mode limit most;
    return;
  end if;
  return query
    with recursive turns as (
      (select s.account_id, s.test_mode, s.next_check_at, 1 as turn from checkout.subscription_set_ups s
        where s.status in ('beginning', 'waiting') and (s.account_id, s.test_mode) > (after_account collate "C", after_mode)
        order by s.account_id, s.test_mode, s.next_check_at limit 1)
      union all
      select n.account_id, n.test_mode, n.next_check_at, t.turn + 1 from turns t cross join lateral (
        select s.account_id, s.test_mode, s.next_check_at from checkout.subscription_set_ups s
         where s.status in ('beginning', 'waiting') and (s.account_id, s.test_mode) > (t.account_id, t.test_mode)
         order by s.account_id, s.test_mode, s.next_check_at limit 1) n
       where t.turn < most
    )
    select t.account_id, t.test_mode, t.next_check_at <= now() from turns t;
end $$;
