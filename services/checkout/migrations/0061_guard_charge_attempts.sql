-- As 0060, for charge attempts: one guard holds their state table, their time to confirm, their room within the session, and what the check
-- constraints held.
create function checkout.guard_charge_attempt() returns trigger language plpgsql as $$
declare
  broken text;
  total bigint;
  eligible bigint;
  charged bigint;
begin
  if tg_op = 'UPDATE' then
    if new.status <> old.status then
      -- The moves of domain/charge-attempt.ts. An attempt that was sent is abandoned only once its time is over and with the code that says so.
      if not (
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
    end if;
    if new.confirm_until > old.confirm_until then
      raise exception 'the time to confirm % does not grow', old.id
        using errcode = 'check_violation', constraint = 'confirm_until_only_shrinks';
    end if;
  elsif new.purpose = 'session' then
    -- The charges and holds of a session never exceed it, however a confirm and the page meet: their legs differ, so no unique index keeps them
    -- apart. Whoever begins an attempt holds the session's row, so two cannot both find room.
    select s.amount_total_cents, s.amount_eligible_cents, coalesce((
        select sum(a.amount_cents) from checkout.charge_attempts a
         where a.account_id = new.account_id and a.test_mode = new.test_mode and a.purpose = 'session'
           and a.subject_id = new.subject_id and a.status in ('created', 'sending', 'unknown', 'succeeded')), 0)
      into total, eligible, charged
      from checkout.sessions s
     where s.account_id = new.account_id and s.test_mode = new.test_mode and s.id = new.subject_id;
    if charged + new.amount_cents > total or (new.leg = 'health' and new.amount_cents > eligible) then
      raise exception 'more would be charged than session % comes to', new.subject_id
        using errcode = 'check_violation', constraint = 'charges_within_session';
    end if;
  end if;
  broken := case
    when not (new.purpose in ('session', 'invoice')) then 'charge_attempts_purpose_check'
    when not (new.leg in ('health', 'other')) then 'charge_attempts_leg_check'
    when not (new.driver in ('confirm', 'page', 'invoice')) then 'charge_attempts_driver_check'
    when not (new.capture_method in ('automatic', 'manual')) then 'charge_attempts_capture_method_check'
    when not (new.amount_cents between 50 and 9007199254740991) then 'charge_attempts_amount_cents_check'
    when not (new.status in ('created', 'sending', 'unknown', 'succeeded', 'declined', 'failed', 'abandoned', 'released'))
      then 'charge_attempts_status_check'
    when not (new.iias_cents >= 0) then 'charge_attempts_iias_cents_check'
    when not (new.prescription_cents >= 0) then 'charge_attempts_prescription_cents_check'
    when not (new.vision_cents >= 0) then 'charge_attempts_vision_cents_check'
    when not (new.service_cents >= 0) then 'charge_attempts_service_cents_check'
    when not (new.status in ('created', 'abandoned', 'declined', 'failed') or new.processor_intent_id is not null)
      then 'charge_attempts_sent_has_intent'
    when not (new.iias_cents + new.prescription_cents + new.vision_cents + new.service_cents <= new.amount_cents)
      then 'charge_attempts_healthcare_within_amount'
  end;
  if broken is not null then
    raise exception 'charge attempt % violates %', new.id, broken using errcode = 'check_violation', constraint = broken;
  end if;
  return new;
end $$;
drop trigger charge_attempts_states on checkout.charge_attempts;
drop trigger keep_confirm_until on checkout.charge_attempts;
drop trigger guard_charges_within_session on checkout.charge_attempts;
drop function checkout.keep_charge_attempt_terminal();
drop function checkout.keep_confirm_until();
drop function checkout.guard_charges_within_session();
create trigger guard_charge_attempt before insert or update on checkout.charge_attempts
  for each row execute function checkout.guard_charge_attempt();
alter table checkout.charge_attempts
  drop constraint charge_attempts_purpose_check, drop constraint charge_attempts_leg_check,
  drop constraint charge_attempts_driver_check, drop constraint charge_attempts_capture_method_check,
  drop constraint charge_attempts_amount_cents_check, drop constraint charge_attempts_status_check,
  drop constraint charge_attempts_iias_cents_check, drop constraint charge_attempts_prescription_cents_check,
  drop constraint charge_attempts_vision_cents_check, drop constraint charge_attempts_service_cents_check,
  drop constraint charge_attempts_sent_has_intent, drop constraint charge_attempts_healthcare_within_amount;
