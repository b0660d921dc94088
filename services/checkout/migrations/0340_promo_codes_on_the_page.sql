-- A promo code that a shopper enters on the checkout page prices the session anew. Each change is a row that stays; the amounts of a session change with
-- such a row alone, and only until a card was given.
create table checkout.session_repricings (
  account_id text collate "C" not null,
  test_mode boolean not null,
  session_id text collate "C" not null,
  -- A session takes twenty codes, and each can be removed.
  number smallint not null check (number between 1 and 40),
  cause text collate "C" not null check (cause in ('promo_code_entered', 'promo_code_removed')),
  discount_id text collate "C" not null,
  promo_code_id text collate "C" not null,
  discount_cents bigint not null check (discount_cents >= 0),
  total_cents bigint not null check (total_cents >= 0),
  eligible_cents bigint not null check (eligible_cents between 0 and total_cents),
  created_at timestamptz(3) not null,
  primary key (account_id, test_mode, session_id, number),
  -- A discount is entered once and removed once, under an id that is not used again.
  unique (account_id, test_mode, discount_id, cause),
  foreign key (account_id, test_mode, session_id) references checkout.sessions (account_id, test_mode, id)
);
-- How many codes were tried on the page of a session.
create table checkout.promo_code_tries (
  account_id text collate "C" not null,
  test_mode boolean not null,
  session_id text collate "C" not null,
  tries smallint not null check (tries between 1 and 20),
  primary key (account_id, test_mode, session_id),
  foreign key (account_id, test_mode, session_id) references checkout.sessions (account_id, test_mode, id)
);
do $$
declare
  name text;
begin
  foreach name in array array['session_repricings', 'promo_code_tries'] loop
    execute format('alter table checkout.%I enable row level security', name);
    execute format('alter table checkout.%I force row level security', name);
    execute format(
      'create policy own_rows on checkout.%I using (account_id = nullif(current_setting(''eligo.account_id'', true), '''')
         and test_mode = (nullif(current_setting(''eligo.test_mode'', true), ''''))::boolean)', name);
  end loop;
end $$;
revoke update, delete, truncate on checkout.session_repricings from :"role";
revoke delete, truncate on checkout.promo_code_tries from :"role";

-- The code as the partner wrote it, where a shopper entered it; null for what the partner gave with the session. Such a discount has a redemption of its own
-- at the catalog, under its id.
alter table checkout.session_discounts add column entered_code text;
-- On the session's row as well, so that a transaction that waited for the row knows of a code that was entered meanwhile.
alter table checkout.sessions add column entered_discount_id text collate "C";

create function checkout.refuse_repricing_change() returns trigger language plpgsql as $$
begin
  raise exception 'rows of % do not change', tg_table_name
    using errcode = 'check_violation', constraint = 'session_split_is_final';
end $$;
create trigger refuse_change before update or delete on checkout.session_repricings
  for each row execute function checkout.refuse_repricing_change();

create function checkout.refuse_fewer_tries() returns trigger language plpgsql as $$
begin
  if new.tries <= old.tries or new.session_id <> old.session_id then
    raise exception 'the tries of a session grow' using errcode = 'check_violation', constraint = 'promo_code_tries_grow';
  end if;
  return new;
end $$;
create trigger refuse_fewer_tries before update on checkout.promo_code_tries
  for each row execute function checkout.refuse_fewer_tries();

-- Whether this transaction reprices the session.
create function checkout.is_repriced(account text, mode boolean, session text) returns boolean language plpgsql as $$
begin
  return exists (
    select from checkout.session_repricings r
     where r.account_id = account and r.test_mode = mode and r.session_id = session and r.xmin = pg_current_xact_id()::xid);
end $$;

-- At the commit: no card was given, and every amount is the sum of its parts again.
create function checkout.check_repricing() returns trigger language plpgsql as $$
declare
  s checkout.sessions;
  sums record;
  broken text;
begin
  select * into s from checkout.sessions
   where account_id = new.account_id and test_mode = new.test_mode and id = new.session_id;
  select coalesce(sum(amount_discount_cents), 0) as discount, coalesce(sum(amount_tax_cents), 0) as tax,
         coalesce(sum(amount_shipping_cents), 0) as shipping, coalesce(sum(amount_fee_cents), 0) as fee,
         coalesce(sum(amount_total_cents), 0) as total, coalesce(sum(amount_eligible_cents), 0) as eligible,
         coalesce(sum(amount_eligible_cents)
           filter (where eligibility_class in ('auto_substantiation', 'private_label')), 0) as iias,
         coalesce(sum(amount_eligible_cents) filter (where eligibility_class = 'prescription'), 0) as prescription,
         coalesce(sum(amount_eligible_cents) filter (where eligibility_class = 'vision'), 0) as vision,
         coalesce(sum(amount_eligible_cents) filter (where eligibility_class = 'service'), 0) as service,
         coalesce(bool_and(amount_discount_cents between 0 and amount_subtotal_cents
           and amount_tax_cents >= 0 and amount_shipping_cents >= 0 and amount_fee_cents >= 0
           and amount_total_cents = amount_subtotal_cents - amount_discount_cents + amount_tax_cents + amount_shipping_cents + amount_fee_cents
           and amount_eligible_cents = case when eligibility_class is null or eligibility_class = 'not_eligible' then 0 else amount_total_cents end),
           true) as lines_hold
    into sums
    from checkout.session_lines
   where account_id = new.account_id and test_mode = new.test_mode and session_id = new.session_id;
  broken := case
    when s.status <> 'open' or s.setup_intent_id is not null or exists (
      select from checkout.payment_intents i
       where i.account_id = new.account_id and i.test_mode = new.test_mode and i.session_id = new.session_id
    ) or exists (
      select from checkout.payment_plans p
       where p.account_id = new.account_id and p.test_mode = new.test_mode and p.session_id = new.session_id
         and p.state not in ('done', 'failed')
    ) then 'no_card_was_given'
    when not sums.lines_hold then 'line_total_is_the_sum_of_its_parts'
    when (sums.discount, sums.tax, sums.shipping, sums.fee, sums.total, sums.eligible, sums.iias, sums.prescription, sums.vision, sums.service)
      is distinct from
      (s.amount_discount_cents, s.amount_tax_cents, s.amount_shipping_cents, s.amount_fee_cents, s.amount_total_cents, s.amount_eligible_cents,
       s.amount_iias_cents, s.amount_prescription_cents, s.amount_vision_cents, s.amount_service_cents)
      then 'session_lines_sum_to_session'
    when (select coalesce(sum(amount_cents), 0) from checkout.session_discounts
           where account_id = new.account_id and test_mode = new.test_mode and session_id = new.session_id)
      <> s.amount_discount_cents then 'session_discounts_sum_to_session'
    when (select count(*) from checkout.session_discounts
           where account_id = new.account_id and test_mode = new.test_mode and session_id = new.session_id)
      <> s.discount_count then 'session_counts_its_discounts'
    when (select count(*) from checkout.session_discounts
           where account_id = new.account_id and test_mode = new.test_mode and session_id = new.session_id and entered_code is not null
             and id is distinct from s.entered_discount_id) > 0 then 'one_code_is_entered'
    when exists (select from checkout.session_discounts
           where account_id = new.account_id and test_mode = new.test_mode and session_id = new.session_id and id = new.discount_id
             and entered_code is not null) <> (new.cause = 'promo_code_entered')
      or s.entered_discount_id is distinct from case new.cause when 'promo_code_entered' then new.discount_id end
      then 'repricing_tells_its_cause'
    when (select eligible_cents from checkout.eligibility_records
           where account_id = new.account_id and test_mode = new.test_mode and session_id = new.session_id)
      is distinct from s.amount_eligible_cents then 'eligibility_record_equals_session'
    when (new.discount_cents, new.total_cents, new.eligible_cents)
      is distinct from (s.amount_discount_cents, s.amount_total_cents, s.amount_eligible_cents) then 'session_equals_its_latest_repricing'
  end;
  if broken is not null then
    raise exception 'repricing % of session % violates %', new.number, new.session_id, broken
      using errcode = 'check_violation', constraint = broken;
  end if;
  return null;
end $$;
create constraint trigger check_repricing after insert on checkout.session_repricings
  deferrable initially deferred for each row execute function checkout.check_repricing();

-- A discount that a shopper entered goes with the repricing that says so; those of the partner stay.
create function checkout.guard_discount() returns trigger language plpgsql as $$
begin
  if checkout.is_repriced(old.account_id, old.test_mode, old.session_id) then
    if tg_op = 'DELETE' and old.entered_code is not null then
      return old;
    end if;
    if tg_op = 'UPDATE' and (new.account_id, new.test_mode, new.session_id, new.id, new.position, new.coupon_id, new.promo_code_id, new.coupon,
        new.entered_code) is not distinct from (old.account_id, old.test_mode, old.session_id, old.id, old.position, old.coupon_id,
        old.promo_code_id, old.coupon, old.entered_code) then
      return new;
    end if;
  end if;
  raise exception 'a session''s discounts do not change'
    using errcode = 'check_violation', constraint = 'session_split_is_final';
end $$;
create or replace trigger refuse_delete before delete on checkout.session_discounts
  for each row execute function checkout.guard_discount();
create trigger guard_discount before update on checkout.session_discounts
  for each row execute function checkout.guard_discount();

-- What a health card may be charged changes with a repricing alone.
create function checkout.guard_eligibility_record() returns trigger language plpgsql as $$
begin
  if not checkout.is_repriced(new.account_id, new.test_mode, new.session_id) or old.charged_attempt_id is not null then
    raise exception 'an eligibility record does not change'
      using errcode = 'check_violation', constraint = 'session_split_is_final';
  end if;
  return new;
end $$;
create trigger guard_eligibility_record before update of eligible_cents on checkout.eligibility_records
  for each row when (old.eligible_cents is distinct from new.eligible_cents) execute function checkout.guard_eligibility_record();

-- As 0290, but that the discount of an open session, and what follows from it, may change with a repricing that the same transaction appends.
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
       is distinct from (old.amount_eligible_cents, old.letter_required, old.split_cart_id)
       and not ((old.status, new.status) = ('paid', 'open') and not new.letter_required and new.amount_received_cents = 0
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
    if (new.amount_eligible_cents, new.eligibility_class) is distinct from (old.amount_eligible_cents, old.eligibility_class)
       and not (new.amount_eligible_cents = 0 and new.eligibility_class = 'not_eligible' and exists (
         select from checkout.session_split_lines v
          where v.account_id = new.account_id and v.test_mode = new.test_mode and v.session_id = new.session_id and v.line_id = new.id
            and v.version > 1 and v.amount_eligible_cents = 0 and v.eligibility_class = 'not_eligible'
            and v.xmin = pg_current_xact_id()::xid))
       and not (new.eligibility_class is not distinct from old.eligibility_class
         and checkout.is_repriced(new.account_id, new.test_mode, new.session_id)) then
      raise exception 'a line''s split does not change without a new version'
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
