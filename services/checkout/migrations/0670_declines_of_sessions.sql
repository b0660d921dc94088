-- How often a card was declined for a session: on its page, where anybody who has its address may type a card, and by requests with a key. The two are counted apart,
-- so that who tries out stolen cards on the page cannot keep the shop from confirming. `domain/session-declines.ts` has the same limits.
alter table checkout.sessions
  add column declines_on_page smallint not null default 0,
  add column declines_by_request smallint not null default 0,
  add constraint declines_on_page_are_bounded check (declines_on_page between 0 and 20) not valid,
  add constraint declines_by_request_are_bounded check (declines_by_request between 0 and 60) not valid;

create function checkout.refuse_fewer_declines() returns trigger language plpgsql as $$
begin
  if new.declines_on_page < old.declines_on_page or new.declines_by_request < old.declines_by_request then
    raise exception 'the declines of session % grow', old.id using errcode = 'check_violation', constraint = 'session_declines_grow';
  end if;
  return new;
end $$;
create trigger refuse_fewer_declines before update of declines_on_page, declines_by_request on checkout.sessions
  for each row execute function checkout.refuse_fewer_declines();

-- As 0350, and no card is charged for a session that has used up its declines. A process of the release before this one that tries it fails.
create or replace function checkout.guard_charge_attempt() returns trigger language plpgsql as $$
declare
  broken text;
  total bigint;
  eligible bigint;
  charged bigint;
  used_up boolean;
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
    if new.purpose <> old.purpose then
      if not ((old.purpose, new.purpose) in (('session', 'renewed'), ('renewal', 'session'))
          and old.status = 'succeeded' and new.status = 'succeeded' and old.capture_method = 'manual') then
        raise exception 'charge attempt % cannot go from % to %', old.id, old.purpose, new.purpose
          using errcode = 'check_violation', constraint = 'charge_attempt_purpose_table';
      end if;
      -- A capture that has begun takes its money from this hold, so that no other one may take its place.
      if new.purpose = 'renewed' and (
        exists (select from checkout.captures c where c.account_id = new.account_id and c.test_mode = new.test_mode
          and c.session_id = new.subject_id and c.status = 'pending')
        or exists (select from checkout.intent_operations o where o.account_id = new.account_id and o.test_mode = new.test_mode
          and o.payment_intent_id = new.payment_intent_id and o.status = 'pending' and o.kind = 'capture')
        or exists (select from checkout.payment_intents i where i.account_id = new.account_id and i.test_mode = new.test_mode
          and i.id = new.payment_intent_id and i.amount_received_cents > 0)
      ) then
        raise exception 'the hold of charge attempt % is captured', old.id
          using errcode = 'check_violation', constraint = 'one_hold_of_a_leg_is_captured';
      end if;
    end if;
  elsif new.purpose = 'session' then
    -- The charges and holds of a session never exceed it, however a confirm and the page meet: their legs differ, so no unique index keeps them
    -- apart. Whoever begins an attempt holds the session's row, so two cannot both find room.
    select s.amount_total_cents, s.amount_eligible_cents, coalesce((
        select sum(a.amount_cents) from checkout.charge_attempts a
         where a.account_id = new.account_id and a.test_mode = new.test_mode and a.purpose = 'session'
           and a.subject_id = new.subject_id and a.status in ('created', 'sending', 'unknown', 'succeeded')), 0),
        case when new.off_session then s.declines_by_request >= 60 else s.declines_on_page >= 20 end
      into total, eligible, charged, used_up
      from checkout.sessions s
     where s.account_id = new.account_id and s.test_mode = new.test_mode and s.id = new.subject_id;
    if charged + new.amount_cents > total or (new.leg = 'health' and new.amount_cents > eligible) then
      raise exception 'more would be charged than session % comes to', new.subject_id
        using errcode = 'check_violation', constraint = 'charges_within_session';
    end if;
    if used_up then
      raise exception 'session % has used up its declines', new.subject_id
        using errcode = 'check_violation', constraint = 'session_declines_are_bounded';
    end if;
  elsif new.purpose = 'renewal' then
    -- The same card for the same amount, held again, and nothing else. Two cards of one session are two renewals.
    if new.capture_method <> 'manual' or new.eligibility_record_id is not null or not exists (
      select from checkout.charge_attempts a
       where a.account_id = new.account_id and a.test_mode = new.test_mode and a.purpose = 'session' and a.subject_id = new.subject_id
         and a.leg = new.leg and a.status in ('created', 'sending', 'unknown', 'succeeded') and a.status = 'succeeded'
         and a.capture_method = 'manual' and a.amount_cents = new.amount_cents and a.payment_method_id = new.payment_method_id
    ) then
      raise exception 'charge attempt % renews no hold', new.id
        using errcode = 'check_violation', constraint = 'renewal_is_of_a_hold';
    end if;
  end if;
  broken := case
    when not (new.purpose in ('session', 'invoice', 'renewal') or (tg_op = 'UPDATE' and new.purpose = 'renewed'))
      then 'charge_attempts_purpose_check'
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
