-- Going on after an outage: plans that wait longer each time, keys that move on, unsent charges that keep no session from ending, what is
-- waiting as numbers, and the states that no code path may leave.

-- How often in a row a plan was looked at in vain.
alter table checkout.payment_plans add column tries integer not null default 0;
-- Which of its keys a set-up uses at the processor: one more for each answer of 500 that is stored under the last.
alter table checkout.setup_intents add column tries integer not null default 0;

-- An attempt that was never sent is given up after a while, but for those that somebody goes on with: a live plan, or billing's operation.
create or replace function checkout.due_charge_work(most integer)
returns table (kind text, account_id text, test_mode boolean, id text)
language sql stable security definer set search_path = checkout, pg_temp as $$
  (select 'attempt', a.account_id, a.test_mode, a.id from checkout.charge_attempts a
    where a.status in ('sending', 'unknown') and a.next_check_at <= now() and a.lease_until < now()
    order by a.next_check_at limit most)
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

-- Whether money of a session is on its way or has come, so that the session cannot end now. Nobody works on an unsent attempt whose lease is
-- dead: the end gives it up.
create function checkout.is_charging(in_account text, in_test_mode boolean, session text) returns boolean
  language sql stable set search_path = checkout, pg_temp as $$
  select exists (
    select from checkout.charge_attempts a
     where a.account_id = in_account and a.test_mode = in_test_mode and a.purpose = 'session' and a.subject_id = session
       and (a.status in ('sending', 'unknown') or (a.status = 'created' and a.lease_until >= now())
         or (a.status = 'succeeded' and a.capture_method = 'automatic')))
$$;
alter function checkout.is_charging(text, boolean, text) owner to eligo_finder;
revoke all on function checkout.is_charging(text, boolean, text) from public;

create or replace function checkout.due_sessions(at timestamptz, most integer)
  returns table (account_id text, test_mode boolean, id text)
  language sql stable security definer set search_path = checkout, pg_temp as $$
  select s.account_id, s.test_mode, s.id from checkout.sessions s
   where s.status = 'open' and s.test_clock_id is null and s.expires_at <= at
     and not checkout.is_charging(s.account_id, s.test_mode, s.id)
   order by s.expires_at limit most
$$;

create or replace function checkout.due_sessions_on_clocks(most integer)
  returns table (account_id text, test_mode boolean, id text)
  language sql stable security definer set search_path = checkout, pg_temp as $$
  select s.account_id, s.test_mode, s.id
    from checkout.test_clocks c
    join checkout.sessions s on s.account_id = c.account_id and s.test_mode = c.test_mode and s.test_clock_id = c.id
   where c.unsettled and s.status = 'open' and s.expires_at <= c.frozen_time
     and not checkout.is_charging(s.account_id, s.test_mode, s.id)
   limit most
$$;

-- How much of each kind waits, over all accounts: numbers for the metrics, and nothing of anybody's.
create function checkout.charge_work_waiting(older_than interval)
  returns table (attempts_in_doubt bigint, plans bigint, holds bigint)
  language sql stable security definer set search_path = checkout, pg_temp as $$
  select
    (select count(*) from checkout.charge_attempts a
      where a.status in ('sending', 'unknown') and a.created_at < now() - older_than),
    (select count(*) from checkout.payment_plans p where p.state in ('running', 'releasing') and p.lease_until < now()),
    (select count(*) from checkout.intent_operations o where o.status = 'pending' and o.created_at < now() - older_than)
$$;
alter function checkout.charge_work_waiting(interval) owner to eligo_finder;
revoke all on function checkout.charge_work_waiting(interval) from public;
grant execute on function checkout.charge_work_waiting(interval) to eligo_checkout;

-- The moves of domain/payment-intent.ts: what was received or let go stays so, and a hold ends in one of the two.
create function checkout.guard_payment_intent() returns trigger language plpgsql as $$
begin
  if new.status <> old.status and (
    old.status in ('succeeded', 'canceled') or (old.status = 'requires_capture' and new.status not in ('succeeded', 'canceled'))
  ) then
    raise exception 'a payment intent does not move from % to %', old.status, new.status
      using errcode = 'check_violation', constraint = 'payment_intent_state_table';
  end if;
  return new;
end $$;
create trigger guard_payment_intent before update of status on checkout.payment_intents
  for each row execute function checkout.guard_payment_intent();

-- What has been done to a hold, and how a plan has ended, does not change.
create function checkout.guard_ended() returns trigger language plpgsql as $$
begin
  raise exception 'what has ended in % stays as it is', tg_table_name
    using errcode = 'check_violation', constraint = 'ended_stays_ended';
end $$;
create trigger guard_ended before update of status on checkout.intent_operations
  for each row when (old.status in ('done', 'failed') and new.status <> old.status) execute function checkout.guard_ended();
create trigger guard_ended before update of state on checkout.payment_plans
  for each row when (old.state in ('done', 'failed') and new.state <> old.state) execute function checkout.guard_ended();
