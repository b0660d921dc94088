-- One guard for each table in place of its check constraints. The server parses and compiles every check constraint of a table again for each
-- statement that writes to it: 23 of them took half of the time of an update of a session. A guard is compiled once for each connection. It
-- refuses what the constraints refused, under their names and with their error code (ADR 15).

create or replace function checkout.guard_session() returns trigger language plpgsql as $$
declare
  broken text;
begin
  if tg_op = 'UPDATE' then
    -- The moves are those of domain/session-states.ts; a test tries every pair in both.
    if new.status <> old.status and (old.status, new.status) not in (
      ('open', 'paid'), ('open', 'complete'), ('open', 'canceled'), ('open', 'expired'),
      ('paid', 'complete'), ('paid', 'canceled')
    ) then
      raise exception 'a session does not move from % to %', old.status, new.status
        using errcode = 'check_violation', constraint = 'session_state_table';
    end if;
    if (new.mode, new.amount_subtotal_cents, new.amount_discount_cents, new.amount_tax_cents, new.amount_shipping_cents,
        new.amount_fee_cents, new.amount_total_cents, new.amount_eligible_cents, new.amount_iias_cents,
        new.amount_prescription_cents, new.amount_vision_cents, new.amount_service_cents)
       is distinct from
       (old.mode, old.amount_subtotal_cents, old.amount_discount_cents, old.amount_tax_cents, old.amount_shipping_cents,
        old.amount_fee_cents, old.amount_total_cents, old.amount_eligible_cents, old.amount_iias_cents,
        old.amount_prescription_cents, old.amount_vision_cents, old.amount_service_cents) then
      raise exception 'a session''s split does not change'
        using errcode = 'check_violation', constraint = 'session_split_is_final';
    end if;
  else
    broken := case
      when not (new.status in ('open', 'paid', 'complete', 'canceled', 'expired')) then 'sessions_status_check'
      when not (new.mode in ('payment', 'subscription', 'off_session', 'setup', 'reimbursement')) then 'sessions_mode_check'
      when not (new.amount_subtotal_cents >= 0) then 'sessions_amount_subtotal_cents_check'
      when not (new.amount_discount_cents between 0 and new.amount_subtotal_cents) then 'sessions_check'
      when not (new.amount_tax_cents >= 0) then 'sessions_amount_tax_cents_check'
      when not (new.amount_shipping_cents >= 0) then 'sessions_amount_shipping_cents_check'
      when not (new.amount_fee_cents >= 0) then 'sessions_amount_fee_cents_check'
      when not (new.amount_iias_cents >= 0) then 'sessions_amount_iias_cents_check'
      when not (new.amount_prescription_cents >= 0) then 'sessions_amount_prescription_cents_check'
      when not (new.amount_vision_cents >= 0) then 'sessions_amount_vision_cents_check'
      when not (new.amount_service_cents >= 0) then 'sessions_amount_service_cents_check'
      when not (new.amount_total_cents = new.amount_subtotal_cents - new.amount_discount_cents + new.amount_tax_cents
        + new.amount_shipping_cents + new.amount_fee_cents) then 'total_is_the_sum_of_its_parts'
      when not (new.amount_eligible_cents between 0 and new.amount_total_cents) then 'eligible_within_total'
      when not (new.amount_iias_cents + new.amount_prescription_cents + new.amount_vision_cents
        + new.amount_service_cents <= new.amount_eligible_cents) then 'buckets_within_eligible'
    end;
  end if;
  broken := coalesce(broken, case
    when not (new.capture_method in ('automatic', 'manual')) then 'sessions_capture_method_check'
    when not (new.letter_fee_cents >= 0) then 'sessions_letter_fee_cents_check'
    when not (new.amount_received_cents between 0 and new.amount_total_cents) then 'received_within_total'
    when not (new.amount_refunded_cents between 0 and new.amount_received_cents) then 'refunded_within_received'
    when not (new.amount_disputed_cents between 0 and new.amount_received_cents) then 'disputed_within_received'
    when not (new.captured_tax_cents between 0 and new.amount_tax_cents
      and new.captured_shipping_cents between 0 and new.amount_shipping_cents
      and new.captured_discount_cents between 0 and new.amount_discount_cents) then 'sessions_captured_components'
    when not (new.refunded_tax_cents between 0 and new.captured_tax_cents) then 'sessions_refunded_tax'
    when not (new.refunded_shipping_cents between 0 and new.captured_shipping_cents) then 'sessions_refunded_shipping'
    when not (new.refunded_discount_cents between 0 and new.captured_discount_cents) then 'sessions_refunded_discount'
  end);
  if broken is not null then
    raise exception 'session % violates %', new.id, broken using errcode = 'check_violation', constraint = broken;
  end if;
  return new;
end $$;
drop trigger guard_session on checkout.sessions;
create trigger guard_session before insert or update on checkout.sessions
  for each row execute function checkout.guard_session();
alter table checkout.sessions
  drop constraint sessions_status_check, drop constraint sessions_mode_check, drop constraint sessions_capture_method_check,
  drop constraint sessions_amount_subtotal_cents_check, drop constraint sessions_check,
  drop constraint sessions_amount_tax_cents_check, drop constraint sessions_amount_shipping_cents_check,
  drop constraint sessions_amount_fee_cents_check, drop constraint sessions_amount_iias_cents_check,
  drop constraint sessions_amount_prescription_cents_check, drop constraint sessions_amount_vision_cents_check,
  drop constraint sessions_amount_service_cents_check, drop constraint sessions_letter_fee_cents_check,
  drop constraint total_is_the_sum_of_its_parts, drop constraint eligible_within_total, drop constraint buckets_within_eligible,
  drop constraint received_within_total, drop constraint refunded_within_received, drop constraint disputed_within_received,
  drop constraint sessions_refunded_tax, drop constraint sessions_refunded_shipping, drop constraint sessions_refunded_discount,
  drop constraint sessions_captured_components;

create or replace function checkout.guard_session_line() returns trigger language plpgsql as $$
declare
  broken text;
begin
  if tg_op = 'UPDATE' then
    if (new.session_id, new.id, new.position, new.price_id, new.product_id, new.quantity, new.unit_amount_cents,
        new.amount_subtotal_cents, new.amount_discount_cents, new.amount_tax_cents, new.amount_shipping_cents,
        new.amount_fee_cents, new.amount_total_cents, new.amount_eligible_cents, new.eligibility_class,
        new.recurring_interval, new.recurring_interval_count, new.recurring_trial_days)
       is distinct from
       (old.session_id, old.id, old.position, old.price_id, old.product_id, old.quantity, old.unit_amount_cents,
        old.amount_subtotal_cents, old.amount_discount_cents, old.amount_tax_cents, old.amount_shipping_cents,
        old.amount_fee_cents, old.amount_total_cents, old.amount_eligible_cents, old.eligibility_class,
        old.recurring_interval, old.recurring_interval_count, old.recurring_trial_days) then
      raise exception 'a line''s split does not change'
        using errcode = 'check_violation', constraint = 'session_split_is_final';
    end if;
  else
    broken := case
      when not (new.position >= 0) then 'session_lines_position_check'
      when not (new.quantity >= 1) then 'session_lines_quantity_check'
      when not (new.unit_amount_cents >= 0) then 'session_lines_unit_amount_cents_check'
      when not (new.amount_tax_cents >= 0) then 'session_lines_amount_tax_cents_check'
      when not (new.amount_shipping_cents >= 0) then 'session_lines_amount_shipping_cents_check'
      when not (new.amount_fee_cents >= 0) then 'session_lines_amount_fee_cents_check'
      when not (new.recurring_interval in ('day', 'week', 'month', 'year')) then 'session_lines_recurring_interval_check'
      when not (new.recurring_interval_count >= 1) then 'session_lines_recurring_interval_count_check'
      when not (new.recurring_trial_days >= 0) then 'session_lines_recurring_trial_days_check'
      when not ((new.recurring_interval is null) = (new.recurring_interval_count is null)) then 'recurring_is_whole'
      when not (new.amount_subtotal_cents = new.unit_amount_cents * new.quantity)
        then 'line_subtotal_is_price_times_quantity'
      when not (new.amount_discount_cents between 0 and new.amount_subtotal_cents) then 'no_line_below_zero'
      when not (new.amount_total_cents = new.amount_subtotal_cents - new.amount_discount_cents + new.amount_tax_cents
        + new.amount_shipping_cents + new.amount_fee_cents) then 'line_total_is_the_sum_of_its_parts'
      when not (new.amount_eligible_cents in (0, new.amount_total_cents)) then 'line_is_eligible_whole_or_not_at_all'
      when not (new.amount_eligible_cents = 0
        or (new.eligibility_class is not null and new.eligibility_class <> 'not_eligible')) then 'eligible_line_has_a_class'
    end;
  end if;
  broken := coalesce(broken, case
    when not (new.amount_captured_cents between 0 and new.amount_total_cents) then 'line_captured_within_total'
    when not (new.amount_refunded_cents between 0 and new.amount_captured_cents) then 'line_refunded_within_captured'
  end);
  if broken is not null then
    raise exception 'line % violates %', new.id, broken using errcode = 'check_violation', constraint = broken;
  end if;
  return new;
end $$;
drop trigger guard_session_line on checkout.session_lines;
create trigger guard_session_line before insert or update on checkout.session_lines
  for each row execute function checkout.guard_session_line();
alter table checkout.session_lines
  drop constraint session_lines_position_check, drop constraint session_lines_quantity_check,
  drop constraint session_lines_unit_amount_cents_check, drop constraint session_lines_amount_tax_cents_check,
  drop constraint session_lines_amount_shipping_cents_check, drop constraint session_lines_amount_fee_cents_check,
  drop constraint session_lines_recurring_interval_check, drop constraint session_lines_recurring_interval_count_check,
  drop constraint session_lines_recurring_trial_days_check, drop constraint recurring_is_whole,
  drop constraint line_subtotal_is_price_times_quantity, drop constraint no_line_below_zero,
  drop constraint line_total_is_the_sum_of_its_parts, drop constraint line_is_eligible_whole_or_not_at_all,
  drop constraint eligible_line_has_a_class, drop constraint line_captured_within_total,
  drop constraint line_refunded_within_captured;

create or replace function checkout.guard_payment_intent() returns trigger language plpgsql as $$
declare
  broken text;
begin
  -- The moves of domain/payment-intent.ts: a captured or canceled intent stays so, and a hold ends in one of the two.
  if tg_op = 'UPDATE' and new.status <> old.status and (
    old.status in ('succeeded', 'canceled') or (old.status = 'requires_capture' and new.status not in ('succeeded', 'canceled'))
  ) then
    raise exception 'a payment intent does not move from % to %', old.status, new.status
      using errcode = 'check_violation', constraint = 'payment_intent_state_table';
  end if;
  broken := case
    when not (new.leg in ('health', 'other')) then 'payment_intents_leg_check'
    when not (new.capture_method in ('automatic', 'manual')) then 'payment_intents_capture_method_check'
    when not (new.status in ('requires_payment_method', 'requires_action', 'processing', 'requires_capture', 'succeeded',
      'canceled')) then 'payment_intents_status_check'
    when not (new.amount_cents between 50 and 9007199254740991) then 'payment_intents_amount_cents_check'
    when not (new.amount_capturable_cents >= 0) then 'payment_intents_amount_capturable_cents_check'
    when not (new.amount_received_cents >= 0) then 'payment_intents_amount_received_cents_check'
    when not (new.amount_refunded_cents >= 0) then 'payment_intents_amount_refunded_cents_check'
    when not (new.session_id is not null or new.invoice_id is not null) then 'payment_intents_has_subject'
    when not (new.amount_received_cents + new.amount_capturable_cents <= new.amount_cents)
      then 'payment_intents_received_within_amount'
    when not (new.amount_refunded_cents <= new.amount_received_cents) then 'payment_intents_refunded_within_received'
    when not ((new.amount_received_cents > 0) = (new.status = 'succeeded')) then 'payment_intents_received_when_succeeded'
  end;
  if broken is not null then
    raise exception 'payment intent % violates %', new.id, broken using errcode = 'check_violation', constraint = broken;
  end if;
  return new;
end $$;
drop trigger guard_payment_intent on checkout.payment_intents;
create trigger guard_payment_intent before insert or update on checkout.payment_intents
  for each row execute function checkout.guard_payment_intent();
alter table checkout.payment_intents
  drop constraint payment_intents_leg_check, drop constraint payment_intents_capture_method_check,
  drop constraint payment_intents_status_check, drop constraint payment_intents_amount_cents_check,
  drop constraint payment_intents_amount_capturable_cents_check, drop constraint payment_intents_amount_received_cents_check,
  drop constraint payment_intents_amount_refunded_cents_check, drop constraint payment_intents_has_subject,
  drop constraint payment_intents_received_within_amount, drop constraint payment_intents_refunded_within_received,
  drop constraint payment_intents_received_when_succeeded;

create function checkout.guard_charge() returns trigger language plpgsql as $$
declare
  broken text := case
    when not (new.status in ('succeeded', 'pending', 'failed')) then 'charges_status_check'
    when not (new.amount_cents > 0) then 'charges_amount_cents_check'
    when not (new.amount_captured_cents >= 0) then 'charges_amount_captured_cents_check'
    when not (new.amount_refunded_cents >= 0) then 'charges_amount_refunded_cents_check'
    when not (new.amount_captured_cents <= new.amount_cents) then 'charges_captured_within_amount'
    when not (new.amount_refunded_cents <= new.amount_captured_cents) then 'charges_refunded_within_captured'
  end;
begin
  if broken is not null then
    raise exception 'charge % violates %', new.id, broken using errcode = 'check_violation', constraint = broken;
  end if;
  return new;
end $$;
create trigger guard_charge before insert or update on checkout.charges
  for each row execute function checkout.guard_charge();
alter table checkout.charges
  drop constraint charges_status_check, drop constraint charges_amount_cents_check,
  drop constraint charges_amount_captured_cents_check, drop constraint charges_amount_refunded_cents_check,
  drop constraint charges_captured_within_amount, drop constraint charges_refunded_within_captured;
