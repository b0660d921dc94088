-- When the next subscription ends by the wall clock, so that the job sleeps until then: one entry of subscriptions_ending_by_the_wall_clock.
create function next_cancellation(after timestamptz) returns timestamptz
  language sql stable security definer set search_path = billing, pg_temp as $$
  select least(s.cancel_at, case when s.cancel_at_period_end then s.current_period_end end) as ends_at
    from subscriptions s
   where s.status in ('trialing', 'active', 'past_due', 'paused', 'unpaid') and (s.cancel_at is not null or s.cancel_at_period_end)
     and s.test_clock_id is null
     and least(s.cancel_at, case when s.cancel_at_period_end then s.current_period_end end) > after
   order by ends_at limit 1
$$;
alter function next_cancellation(timestamptz) owner to eligo_finder;
revoke all on function next_cancellation(timestamptz) from public;
grant execute on function next_cancellation(timestamptz) to :"role";
