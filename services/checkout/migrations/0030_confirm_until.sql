-- How long an attempt may be confirmed at the processor. A charge that did not set out in time must not set out hours later: the shopper has gone, and
-- the partner may have sold again.

-- Database time. The defaults are the window of a claim (charging.ts), for what is under way while this is applied and for the release before it.
alter table checkout.charge_attempts add column confirm_until timestamptz not null default now() + interval '3 minutes';
alter table checkout.payment_plans add column confirm_until timestamptz not null default now() + interval '3 minutes';
-- Billing's operation: it names a charge across the attempts that were canceled because they came too late.
alter table checkout.charge_attempts add column operation_id text collate "C";

-- The moves of domain/charge-attempt.ts. An attempt that was sent is abandoned only once its time is over and with the code that says so.
create or replace function checkout.keep_charge_attempt_terminal() returns trigger language plpgsql as $$
begin
  if old.status <> new.status and not (
    (old.status = 'created' and new.status in ('sending', 'abandoned', 'declined', 'failed')) or
    (old.status = 'sending' and new.status in ('succeeded', 'declined', 'failed', 'unknown')) or
    (old.status = 'unknown' and new.status in ('sending', 'succeeded', 'declined', 'failed')) or
    (old.status in ('sending', 'unknown') and new.status = 'abandoned'
      and new.failure_code is not null and new.confirm_until <= clock_timestamp()) or
    (old.status = 'succeeded' and new.status = 'released')
  ) then
    raise exception 'charge attempt % cannot go from % to %', old.id, old.status, new.status using errcode = 'check_violation';
  end if;
  -- Twenty minutes bound every window that the service may be configured with.
  if new.status = 'sending' and least(new.confirm_until, new.created_at + interval '20 minutes') <= clock_timestamp() then
    raise exception 'charge attempt % can no longer be confirmed', old.id
      using errcode = 'check_violation', constraint = 'confirmed_in_time';
  end if;
  return new;
end $$;

create function checkout.keep_confirm_until() returns trigger language plpgsql as $$
begin
  raise exception 'the time to confirm % does not grow', old.id
    using errcode = 'check_violation', constraint = 'confirm_until_only_shrinks';
end $$;
create trigger keep_confirm_until before update of confirm_until on checkout.charge_attempts
  for each row when (new.confirm_until > old.confirm_until) execute function checkout.keep_confirm_until();
