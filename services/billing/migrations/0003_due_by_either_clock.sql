-- A clock that was deleted counts no more: who lived on it goes on by the wall clock. The few that live on test clocks are looked at one by one.
create or replace function due_cancellations(at timestamptz, most integer)
  returns table (account_id text, test_mode boolean, id text)
  language sql stable security definer set search_path = billing, pg_temp as $$
  select due.account_id, due.test_mode, due.id from (
    (select s.account_id, s.test_mode, s.id, least(s.cancel_at, case when s.cancel_at_period_end then s.current_period_end end) as ends_at
       from subscriptions s
      where s.status in ('trialing', 'active', 'past_due', 'paused', 'unpaid') and (s.cancel_at is not null or s.cancel_at_period_end)
        and s.test_clock_id is null
        and least(s.cancel_at, case when s.cancel_at_period_end then s.current_period_end end) <= at
      order by ends_at limit most)
    union all
    (select s.account_id, s.test_mode, s.id, least(s.cancel_at, case when s.cancel_at_period_end then s.current_period_end end)
       from subscriptions s
       join test_clocks c on c.account_id = s.account_id and c.test_mode = s.test_mode and c.id = s.test_clock_id
      where s.status in ('trialing', 'active', 'past_due', 'paused', 'unpaid') and (s.cancel_at is not null or s.cancel_at_period_end)
        and s.test_clock_id is not null
        and least(s.cancel_at, case when s.cancel_at_period_end then s.current_period_end end) <= case when c.deleted_at is null then c.frozen_time else at end
      limit most)
  ) due
  order by due.ends_at limit most
$$;
