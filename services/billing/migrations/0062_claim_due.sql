-- Takes the subscriptions that have been due longest, in any account, for one process: no other one takes them up before `until`. Ids only; the job then works
-- in each account's own context.
create policy finder_claims on subscriptions for update to eligo_finder using (true) with check (true);
grant update (held_until) on subscriptions to eligo_finder;

create function claim_due_subscriptions(at timestamptz, until timestamptz, most integer)
  returns table (account_id text, test_mode boolean, id text, work_at timestamptz)
  language sql volatile security definer set search_path = billing, pg_temp as $$
  with due as materialized (
    select s.account_id, s.test_mode, s.id, s.work_at from subscriptions s
     where s.work_at <= at order by s.work_at limit most for no key update skip locked
  )
  update subscriptions s set held_until = until from due d
   where s.account_id = d.account_id and s.test_mode = d.test_mode and s.id = d.id
  returning s.account_id, s.test_mode, s.id, d.work_at
$$;

-- The accounts after one that have subscriptions, at most `accounts`, and of each the subscriptions that have been due longest, at most `each`: taken as above.
-- An account without one gives a row without an id, so that the next look goes on behind it.
create function claim_due_of_each_account(at timestamptz, until timestamptz, accounts integer, each integer, after_account text, after_mode boolean)
  returns table (account_id text, test_mode boolean, id text)
  language plpgsql volatile security definer set search_path = billing, pg_temp as $$
declare
  taken text;
  is_any boolean;
begin
  account_id := after_account;
  test_mode := after_mode;
  for step in 1..accounts loop
    select s.account_id, s.test_mode into account_id, test_mode from subscriptions s
     where s.work_at is not null and (s.account_id, s.test_mode) > (claim_due_of_each_account.account_id, claim_due_of_each_account.test_mode)
     order by s.account_id, s.test_mode limit 1;
    exit when not found;
    is_any := false;
    for taken in
      with due as materialized (
        select s.account_id, s.test_mode, s.id from subscriptions s
         where s.account_id = claim_due_of_each_account.account_id and s.test_mode = claim_due_of_each_account.test_mode and s.work_at <= at
         order by s.work_at limit each for no key update skip locked
      )
      update subscriptions s set held_until = until from due d
       where s.account_id = d.account_id and s.test_mode = d.test_mode and s.id = d.id
      returning s.id
    loop
      is_any := true;
      id := taken;
      return next;
    end loop;
    if not is_any then
      id := null;
      return next;
    end if;
  end loop;
end $$;

-- When a subscription is next due by the wall clock, so that the job sleeps until then: one entry of the index.
create function next_due_subscription(after timestamptz) returns timestamptz
  language sql stable security definer set search_path = billing, pg_temp as $$
  select s.work_at from subscriptions s where s.work_at > after order by s.work_at limit 1
$$;

-- The next clocks after one that a subscription lives on, and the time up to which its subscriptions are due: the clock's, or `at` once it is deleted. One step
-- over the index for each clock.
create function clocks_of_due_subscriptions(at timestamptz, most integer, after_account text, after_mode boolean, after_clock text)
  returns table (account_id text, test_mode boolean, id text, due_until timestamptz, is_due boolean)
  language sql stable security definer set search_path = billing, pg_temp as $$
  with recursive clock as (
    (select s.account_id, s.test_mode, s.test_clock_id, s.due_at from subscriptions s
      where s.test_clock_id is not null and s.due_at is not null
        and (s.account_id, s.test_mode, s.test_clock_id) > (after_account, after_mode, after_clock)
      order by s.account_id, s.test_mode, s.test_clock_id, s.due_at limit 1)
    union all
    select n.account_id, n.test_mode, n.test_clock_id, n.due_at
      from clock c
      cross join lateral (
        select s.account_id, s.test_mode, s.test_clock_id, s.due_at from subscriptions s
         where s.test_clock_id is not null and s.due_at is not null
           and (s.account_id, s.test_mode, s.test_clock_id) > (c.account_id, c.test_mode, c.test_clock_id)
         order by s.account_id, s.test_mode, s.test_clock_id, s.due_at limit 1
      ) n
  )
  select c.account_id, c.test_mode, c.test_clock_id, t.time, c.due_at <= t.time
    from (select * from clock limit most) c
    cross join lateral (
      select case when k.deleted_at is null then k.frozen_time else at end as time from test_clocks k
       where k.account_id = c.account_id and k.test_mode = c.test_mode and k.id = c.test_clock_id offset 0
    ) t
$$;

do $$
declare signature text;
begin
  foreach signature in array array['claim_due_subscriptions(timestamptz, timestamptz, integer)',
      'claim_due_of_each_account(timestamptz, timestamptz, integer, integer, text, boolean)', 'next_due_subscription(timestamptz)',
      'clocks_of_due_subscriptions(timestamptz, integer, text, boolean, text)'] loop
    execute format('alter function %s owner to eligo_finder', signature);
    execute format('revoke all on function %s from public', signature);
  end loop;
end $$;
grant execute on function claim_due_subscriptions(timestamptz, timestamptz, integer),
  claim_due_of_each_account(timestamptz, timestamptz, integer, integer, text, boolean), next_due_subscription(timestamptz),
  clocks_of_due_subscriptions(timestamptz, integer, text, boolean, text) to :"role";
