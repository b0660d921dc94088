-- What ends now, in pages. due_cancellations joined the subscriptions that end by any test clock with all clocks, each time.

create function ending_by_the_wall_clock(at timestamptz, most integer) returns table (account_id text, test_mode boolean, id text)
  language sql stable security definer set search_path = billing, pg_temp as $$
  select s.account_id, s.test_mode, s.id from subscriptions s
   where s.status in ('trialing', 'active', 'past_due', 'paused', 'unpaid') and (s.cancel_at is not null or s.cancel_at_period_end)
     and s.test_clock_id is null
     and least(s.cancel_at, case when s.cancel_at_period_end then s.current_period_end end) <= at
   order by least(s.cancel_at, case when s.cancel_at_period_end then s.current_period_end end) limit most
$$;
alter function ending_by_the_wall_clock(timestamptz, integer) owner to eligo_finder;
revoke all on function ending_by_the_wall_clock(timestamptz, integer) from public;
grant execute on function ending_by_the_wall_clock(timestamptz, integer) to :"role";

-- The next clocks after one that somebody's subscription ends by, and the time up to which those that live on it end: the clock's, or `at` once it is
-- deleted. One step over the index for each clock, to the first that ends by it.
create function clocks_that_end_subscriptions(at timestamptz, most integer, after_account text, after_mode boolean, after_clock text)
  returns table (account_id text, test_mode boolean, id text, ends_until timestamptz, is_due boolean)
  language sql stable security definer set search_path = billing, pg_temp as $$
  with recursive clock as (
    (select s.account_id, s.test_mode, s.test_clock_id, least(s.cancel_at, case when s.cancel_at_period_end then s.current_period_end end) as ends_at
       from subscriptions s
      where s.status in ('trialing', 'active', 'past_due', 'paused', 'unpaid') and (s.cancel_at is not null or s.cancel_at_period_end)
        and s.test_clock_id is not null
        and (s.account_id, s.test_mode, s.test_clock_id) > (after_account, after_mode, after_clock)
      order by s.account_id, s.test_mode, s.test_clock_id, least(s.cancel_at, case when s.cancel_at_period_end then s.current_period_end end) limit 1)
    union all
    select n.account_id, n.test_mode, n.test_clock_id, n.ends_at
      from clock c
      cross join lateral (
        select s.account_id, s.test_mode, s.test_clock_id, least(s.cancel_at, case when s.cancel_at_period_end then s.current_period_end end) as ends_at
          from subscriptions s
         where s.status in ('trialing', 'active', 'past_due', 'paused', 'unpaid') and (s.cancel_at is not null or s.cancel_at_period_end)
           and s.test_clock_id is not null
           and (s.account_id, s.test_mode, s.test_clock_id) > (c.account_id, c.test_mode, c.test_clock_id)
         order by s.account_id, s.test_mode, s.test_clock_id, least(s.cancel_at, case when s.cancel_at_period_end then s.current_period_end end) limit 1
      ) n
  )
  select c.account_id, c.test_mode, c.test_clock_id, t.time, c.ends_at <= t.time
    from (select * from clock limit most) c
    cross join lateral (
      select case when k.deleted_at is null then k.frozen_time else at end as time from test_clocks k
       where k.account_id = c.account_id and k.test_mode = c.test_mode and k.id = c.test_clock_id offset 0
    ) t
$$;
alter function clocks_that_end_subscriptions(timestamptz, integer, text, boolean, text) owner to eligo_finder;
revoke all on function clocks_that_end_subscriptions(timestamptz, integer, text, boolean, text) from public;
grant execute on function clocks_that_end_subscriptions(timestamptz, integer, text, boolean, text) to :"role";
