-- Finders and counts that read a page, however much waits in all accounts.

-- Sessions whose time has come, a page after a place, each with whether it is being charged: that is asked of a page's sessions only. An outage of
-- the processor leaves thousands that are overdue and may not expire yet, and each run read them all.
create function checkout.due_sessions_after(at timestamptz, most integer, after_expires timestamptz, after_id text)
  returns table (account_id text, test_mode boolean, id text, expires_at timestamptz, charging boolean)
  language sql stable security definer set search_path = checkout, pg_temp as $$
  select p.account_id, p.test_mode, p.id, p.expires_at, checkout.is_charging(p.account_id, p.test_mode, p.id) from (
    select s.account_id, s.test_mode, s.id, s.expires_at from checkout.sessions s
     where s.status = 'open' and s.test_clock_id is null and s.expires_at <= at
       and s.expires_at >= after_expires and (s.expires_at, s.id) > (after_expires, after_id)
     order by s.expires_at, s.id limit most
  ) p
$$;
alter function checkout.due_sessions_after(timestamptz, integer, timestamptz, text) owner to eligo_finder;
revoke all on function checkout.due_sessions_after(timestamptz, integer, timestamptz, text) from public;
grant execute on function checkout.due_sessions_after(timestamptz, integer, timestamptz, text) to :"role";

-- One look per clock at its next session, not at the sessions of all clocks.
create or replace function checkout.settled_clocks(most integer)
  returns table (account_id text, test_mode boolean, id text, frozen_time timestamptz)
  language sql stable security definer set search_path = checkout, pg_temp as $$
  select c.account_id, c.test_mode, c.id, c.frozen_time from checkout.test_clocks c
   where c.unsettled and (
     select true from checkout.sessions s
      where s.account_id = c.account_id and s.test_mode = c.test_mode and s.test_clock_id = c.id
        and s.status = 'open' and s.expires_at <= c.frozen_time limit 1) is null
   limit most
$$;

-- Each count stops at a thousand (of sent and of unknown attempts each): more than that asks for the same as a thousand does. In the order of an index of what is
-- unsettled, or all attempts would be looked at, or all that are unsettled put into a bitmap before the first is counted.
create or replace function checkout.charge_work_waiting(older_than interval)
  returns table (attempts_in_doubt bigint, plans bigint, holds bigint)
  language sql stable security definer set search_path = checkout, pg_temp as $$
  select
    (select count(*) from (select from checkout.charge_attempts a
      where a.status = 'sending' and a.created_at < now() - older_than order by a.next_check_at limit 1000) counted)
    + (select count(*) from (select from checkout.charge_attempts a
      where a.status = 'unknown' and a.created_at < now() - older_than order by a.next_check_at limit 1000) counted),
    (select count(*) from (select from checkout.payment_plans p
      where p.state in ('running', 'releasing') and p.lease_until < now() order by p.next_check_at limit 1000) counted),
    (select count(*) from (select from checkout.intent_operations o
      where o.status = 'pending' and o.created_at < now() - older_than order by o.next_check_at limit 1000) counted)
$$;

-- By the index of its status: what was never sent does not stand behind what is in doubt.
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
    where a.status = 'created' and a.next_check_at <= now() and a.lease_until < now() - interval '60 seconds'
      and a.driver <> 'invoice' and not (a.driver = 'page' and exists (
        select from checkout.payment_plans p
         where p.account_id = a.account_id and p.test_mode = a.test_mode and p.session_id = a.subject_id
           and p.state in ('running', 'releasing')))
    order by a.next_check_at limit most)
  union all
  (select 'operation', o.account_id, o.test_mode, o.id from checkout.intent_operations o
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

-- Planned for any `most`, a batch is expected to be a tenth of all rows, and was joined with all that is old: each batch read the whole backlog.
alter function checkout.prune_session_keys(integer) set enable_hashjoin = off;
alter function checkout.prune_session_keys(integer) set enable_mergejoin = off;
