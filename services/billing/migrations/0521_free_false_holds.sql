-- Frees subscriptions that are held until later than any hold lasts: the wall clock was ahead when they were held, and was set back. Those of the year 9999 wait for an
-- operator (0060). Reads one range of an index that is empty unless there are such holds.
create function free_false_holds(at timestamptz, longest interval, most integer) returns integer
  language sql volatile security definer set search_path = billing, pg_temp as $$
  with held as materialized (
    select s.account_id, s.test_mode, s.id from subscriptions s
     where s.held_until > at + longest and s.held_until < timestamptz '9999-01-01 00:00:00+00' and s.due_at is not null
     order by s.held_until limit most for no key update skip locked
  ), freed as (
    update subscriptions s set held_until = null from held h
     where s.account_id = h.account_id and s.test_mode = h.test_mode and s.id = h.id
    returning 1
  )
  select count(*)::integer from freed
$$;
alter function free_false_holds(timestamptz, interval, integer) owner to eligo_finder;
revoke all on function free_false_holds(timestamptz, interval, integer) from public;
grant execute on function free_false_holds(timestamptz, interval, integer) to :"role";
