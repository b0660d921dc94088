-- Sessions whose time has come, in any account: ids only. Those with a charge under way are left out, so that they never crowd out others.

create function checkout.due_sessions(at timestamptz, most integer)
  returns table (account_id text, test_mode boolean, id text)
  language sql stable security definer set search_path = checkout, pg_temp as $$
  select s.account_id, s.test_mode, s.id from checkout.sessions s
   where s.status = 'open' and s.test_clock_id is null and s.expires_at <= at
     and not exists (
       select from checkout.charge_attempts a
        where a.account_id = s.account_id and a.test_mode = s.test_mode and a.purpose = 'session' and a.subject_id = s.id
          and a.status in ('created', 'sending', 'unknown'))
   order by s.expires_at limit most
$$;

create function checkout.due_sessions_on_clocks(most integer)
  returns table (account_id text, test_mode boolean, id text)
  language sql stable security definer set search_path = checkout, pg_temp as $$
  select s.account_id, s.test_mode, s.id
    from checkout.test_clocks c
    join checkout.sessions s on s.account_id = c.account_id and s.test_mode = c.test_mode and s.test_clock_id = c.id
   where c.unsettled and s.status = 'open' and s.expires_at <= c.frozen_time
     and not exists (
       select from checkout.charge_attempts a
        where a.account_id = s.account_id and a.test_mode = s.test_mode and a.purpose = 'session' and a.subject_id = s.id
          and a.status in ('created', 'sending', 'unknown'))
   limit most
$$;

-- Clocks that were moved and of which nothing is due any more, with the time for which that holds.
create function checkout.settled_clocks(most integer)
  returns table (account_id text, test_mode boolean, id text, frozen_time timestamptz)
  language sql stable security definer set search_path = checkout, pg_temp as $$
  select c.account_id, c.test_mode, c.id, c.frozen_time from checkout.test_clocks c
   where c.unsettled and not exists (
     select from checkout.sessions s
      where s.account_id = c.account_id and s.test_mode = c.test_mode and s.test_clock_id = c.id
        and s.status = 'open' and s.expires_at <= c.frozen_time)
   limit most
$$;

alter function checkout.due_sessions(timestamptz, integer) owner to eligo_finder;
alter function checkout.due_sessions_on_clocks(integer) owner to eligo_finder;
alter function checkout.settled_clocks(integer) owner to eligo_finder;
revoke all on function checkout.due_sessions(timestamptz, integer) from public;
revoke all on function checkout.due_sessions_on_clocks(integer) from public;
revoke all on function checkout.settled_clocks(integer) from public;
grant execute on function checkout.due_sessions(timestamptz, integer) to eligo_checkout;
grant execute on function checkout.due_sessions_on_clocks(integer) to eligo_checkout;
grant execute on function checkout.settled_clocks(integer) to eligo_checkout;
