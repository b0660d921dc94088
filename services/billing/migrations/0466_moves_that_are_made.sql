-- Two moves that no call makes are refused: a subscription with a trial begins with it, and one whose trial ends is active until its first payment fails.
create or replace function guard_subscription() returns trigger language plpgsql as $$
begin
  if new.status <> old.status and (old.status, new.status) not in (
    ('incomplete', 'active'), ('incomplete', 'incomplete_expired'), ('incomplete', 'canceled'),
    ('trialing', 'active'), ('trialing', 'paused'), ('trialing', 'canceled'),
    ('active', 'past_due'), ('active', 'paused'), ('active', 'canceled'),
    ('past_due', 'active'), ('past_due', 'unpaid'), ('past_due', 'canceled'),
    ('unpaid', 'active'), ('unpaid', 'canceled'),
    ('paused', 'active'), ('paused', 'canceled')
  ) then
    raise exception 'a subscription does not move from % to %', old.status, new.status
      using errcode = 'check_violation', constraint = 'subscription_state_table';
  end if;
  return new;
end $$;
