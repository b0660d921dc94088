-- The accounts and modes after one that have a clock with more to do. Accounts take turns, so that clocks of one that take long do not keep the others waiting.
create function advancing_clock_turns(after_account text, after_mode boolean, most integer)
  returns table (account_id text, test_mode boolean)
  language sql stable security definer set search_path = billing, pg_temp as $$
  with recursive turns as (
    (select c.account_id, c.test_mode, 1 as turn from test_clocks c
      where c.status = 'advancing' and c.deleted_at is null and (c.account_id, c.test_mode) > (after_account collate "C", after_mode)
      order by c.account_id, c.test_mode limit 1)
    union all
    select n.account_id, n.test_mode, t.turn + 1 from turns t cross join lateral (
      select c.account_id, c.test_mode from test_clocks c
       where c.status = 'advancing' and c.deleted_at is null and (c.account_id, c.test_mode) > (t.account_id, t.test_mode)
       order by c.account_id, c.test_mode limit 1) n
     where t.turn < most
  )
  select t.account_id, t.test_mode from turns t
$$;
alter function advancing_clock_turns(text, boolean, integer) owner to eligo_finder;
revoke all on function advancing_clock_turns(text, boolean, integer) from public;
grant execute on function advancing_clock_turns(text, boolean, integer) to :"role";

-- Of the release before this one. A clock that was deleted has nothing to do.
create or replace function advancing_test_clocks(most integer)
  returns table (account_id text, test_mode boolean, id text)
  language sql stable security definer set search_path = billing, pg_temp as $$
  select c.account_id, c.test_mode, c.id from test_clocks c where c.status = 'advancing' and c.deleted_at is null order by c.id limit most
$$;
