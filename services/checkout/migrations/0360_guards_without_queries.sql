-- As 0340, but that the guards of each update of a session and of a line start no query: a condition with a subquery is a query as a whole, whether the
-- subquery is reached or not. It stands behind the comparison, which PL/pgSQL computes by itself: an update takes 14 µs less of some 60.
create or replace function checkout.guard_session() returns trigger language plpgsql as $$
declare
  broken text;
begin
  if tg_op = 'UPDATE' then
    -- The moves are those of domain/session-states.ts; a test tries every pair in both. A session is open again with a new version of its split alone.
    if new.status <> old.status and (old.status, new.status) not in (
      ('open', 'paid'), ('open', 'complete'), ('open', 'canceled'), ('open', 'expired'),
      ('paid', 'complete'), ('paid', 'canceled')
    ) and not ((old.status, new.status) = ('paid', 'open') and new.split_cart_id is distinct from old.split_cart_id) then
      raise exception 'a session does not move from % to %', old.status, new.status
        using errcode = 'check_violation', constraint = 'session_state_table';
    end if;
    if (new.mode, new.amount_subtotal_cents, new.amount_tax_cents, new.amount_shipping_cents, new.amount_fee_cents)
       is distinct from
       (old.mode, old.amount_subtotal_cents, old.amount_tax_cents, old.amount_shipping_cents, old.amount_fee_cents)
       or (new.amount_discount_cents, new.amount_total_cents, new.amount_iias_cents,
        new.amount_prescription_cents, new.amount_vision_cents, new.amount_service_cents, new.entered_discount_id)
       is distinct from
       (old.amount_discount_cents, old.amount_total_cents, old.amount_iias_cents,
        old.amount_prescription_cents, old.amount_vision_cents, old.amount_service_cents, old.entered_discount_id)
       and not ((old.status, new.status) = ('open', 'open') and checkout.is_repriced(new.account_id, new.test_mode, new.id)) then
      raise exception 'a session''s split does not change'
        using errcode = 'check_violation', constraint = 'session_split_is_final';
    end if;
    if (new.amount_eligible_cents, new.letter_required, new.split_cart_id)
       is distinct from (old.amount_eligible_cents, old.letter_required, old.split_cart_id) then
      if not ((old.status, new.status) = ('paid', 'open') and not new.letter_required and new.amount_received_cents = 0
          and new.amount_eligible_cents between new.amount_iias_cents + new.amount_prescription_cents + new.amount_vision_cents
            + new.amount_service_cents and old.amount_eligible_cents
          and exists (
            select from checkout.session_split_versions v
             where v.account_id = new.account_id and v.test_mode = new.test_mode and v.session_id = new.id and v.id = new.split_cart_id
               and v.version > 1 and v.xmin = pg_current_xact_id()::xid))
        and not ((old.status, new.status) = ('open', 'open') and new.letter_required = old.letter_required
          and new.split_cart_id is not distinct from old.split_cart_id
          and checkout.is_repriced(new.account_id, new.test_mode, new.id)) then
        raise exception 'a session''s split does not change without a new version'
          using errcode = 'check_violation', constraint = 'session_split_is_final';
      end if;
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

create or replace function checkout.guard_session_line() returns trigger language plpgsql as $$
declare
  broken text;
begin
  if tg_op = 'UPDATE' then
    if (new.session_id, new.id, new.position, new.price_id, new.product_id, new.quantity, new.unit_amount_cents,
        new.amount_subtotal_cents, new.recurring_interval, new.recurring_interval_count, new.recurring_trial_days)
       is distinct from
       (old.session_id, old.id, old.position, old.price_id, old.product_id, old.quantity, old.unit_amount_cents,
        old.amount_subtotal_cents, old.recurring_interval, old.recurring_interval_count, old.recurring_trial_days)
       or (new.amount_discount_cents, new.amount_tax_cents, new.amount_shipping_cents, new.amount_fee_cents, new.amount_total_cents)
       is distinct from
       (old.amount_discount_cents, old.amount_tax_cents, old.amount_shipping_cents, old.amount_fee_cents, old.amount_total_cents)
       and not checkout.is_repriced(new.account_id, new.test_mode, new.session_id) then
      raise exception 'a line''s split does not change'
        using errcode = 'check_violation', constraint = 'session_split_is_final';
    end if;
    if (new.amount_eligible_cents, new.eligibility_class) is distinct from (old.amount_eligible_cents, old.eligibility_class) then
      if not (new.amount_eligible_cents = 0 and new.eligibility_class = 'not_eligible' and exists (
          select from checkout.session_split_lines v
           where v.account_id = new.account_id and v.test_mode = new.test_mode and v.session_id = new.session_id and v.line_id = new.id
             and v.version > 1 and v.amount_eligible_cents = 0 and v.eligibility_class = 'not_eligible'
             and v.xmin = pg_current_xact_id()::xid))
        and not (new.eligibility_class is not distinct from old.eligibility_class
          and checkout.is_repriced(new.account_id, new.test_mode, new.session_id)) then
        raise exception 'a line''s split does not change without a new version'
          using errcode = 'check_violation', constraint = 'session_split_is_final';
      end if;
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
