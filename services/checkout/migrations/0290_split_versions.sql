-- A session whose letter is denied while its shopper is on the page goes on with another card: a new version of its split is appended, in which the lines of
-- that letter are not eligible. No version is ever edited. The session and its lines say what the latest version says.
create table checkout.session_split_versions (
  account_id text collate "C" not null,
  test_mode boolean not null,
  session_id text collate "C" not null,
  version smallint not null check (version >= 1),
  -- The split cart that the session shows.
  id text collate "C" not null,
  cause text collate "C" not null check (cause in ('created', 'letter_denied')),
  eligible_cents bigint not null check (eligible_cents >= 0),
  created_at timestamptz(3) not null,
  primary key (account_id, test_mode, session_id, version),
  unique (account_id, test_mode, id),
  foreign key (account_id, test_mode, session_id) references checkout.sessions (account_id, test_mode, id),
  constraint first_version_is_the_creation check ((version = 1) = (cause = 'created'))
);
create table checkout.session_split_lines (
  account_id text collate "C" not null,
  test_mode boolean not null,
  session_id text collate "C" not null,
  version smallint not null,
  line_id text collate "C" not null,
  amount_eligible_cents bigint not null check (amount_eligible_cents >= 0),
  eligibility_class text collate "C",
  eligibility_rule text collate "C" not null,
  eligibility_rule_version text collate "C" not null,
  rationale text not null,
  primary key (account_id, test_mode, session_id, version, line_id),
  foreign key (account_id, test_mode, session_id, version)
    references checkout.session_split_versions (account_id, test_mode, session_id, version),
  foreign key (account_id, test_mode, line_id) references checkout.session_lines (account_id, test_mode, id)
);
-- When the page of a session that waits for its letters was last open in a browser.
create table checkout.page_visits (
  account_id text collate "C" not null,
  test_mode boolean not null,
  session_id text collate "C" not null,
  seen_at timestamptz(3) not null,
  primary key (account_id, test_mode, session_id),
  foreign key (account_id, test_mode, session_id) references checkout.sessions (account_id, test_mode, id)
);
do $$
declare
  name text;
begin
  foreach name in array array['session_split_versions', 'session_split_lines', 'page_visits'] loop
    execute format('alter table checkout.%I enable row level security', name);
    execute format('alter table checkout.%I force row level security', name);
    execute format(
      'create policy own_rows on checkout.%I using (account_id = nullif(current_setting(''eligo.account_id'', true), '''')
         and test_mode = (nullif(current_setting(''eligo.test_mode'', true), ''''))::boolean)', name);
  end loop;
end $$;
revoke update, delete, truncate on checkout.session_split_versions, checkout.session_split_lines from :"role";
revoke delete, truncate on checkout.page_visits from :"role";

create function checkout.refuse_split_change() returns trigger language plpgsql as $$
begin
  raise exception 'rows of % do not change', tg_table_name
    using errcode = 'check_violation', constraint = 'session_split_is_final';
end $$;
create trigger refuse_change before update or delete on checkout.session_split_versions
  for each row execute function checkout.refuse_split_change();
create trigger refuse_change before update or delete on checkout.session_split_lines
  for each row execute function checkout.refuse_split_change();

-- At the commit: a version says something of every line, its eligible lines sum to it, and each of them that needs a letter has an approved one. It makes
-- nothing eligible that was not. The latest version is what the session and its lines say.
create function checkout.check_split_version() returns trigger language plpgsql as $$
declare
  broken text;
begin
  select case
    when (select count(*) from checkout.session_split_lines v
           where v.account_id = new.account_id and v.test_mode = new.test_mode and v.session_id = new.session_id and v.version = new.version)
      <> (select count(*) from checkout.session_lines l
           where l.account_id = new.account_id and l.test_mode = new.test_mode and l.session_id = new.session_id)
      then 'split_version_has_every_line'
    when (select coalesce(sum(v.amount_eligible_cents), 0) from checkout.session_split_lines v
           where v.account_id = new.account_id and v.test_mode = new.test_mode and v.session_id = new.session_id and v.version = new.version)
      <> new.eligible_cents then 'split_lines_sum_to_version'
    when new.version > 1 and exists (
      select from checkout.session_split_lines v
        left join checkout.session_split_lines before on before.account_id = v.account_id and before.test_mode = v.test_mode
         and before.session_id = v.session_id and before.version = v.version - 1 and before.line_id = v.line_id
       where v.account_id = new.account_id and v.test_mode = new.test_mode and v.session_id = new.session_id and v.version = new.version
         and (before.line_id is null or v.amount_eligible_cents > before.amount_eligible_cents)
    ) then 'split_version_makes_nothing_eligible'
    when not exists (
      select from checkout.session_split_versions later
       where later.account_id = new.account_id and later.test_mode = new.test_mode and later.session_id = new.session_id
         and later.version > new.version
    ) and (not exists (
      select from checkout.sessions s
       where s.account_id = new.account_id and s.test_mode = new.test_mode and s.id = new.session_id
         and s.split_cart_id = new.id and s.amount_eligible_cents = new.eligible_cents
    ) or exists (
      select from checkout.session_split_lines v
        join checkout.session_lines l on l.account_id = v.account_id and l.test_mode = v.test_mode and l.id = v.line_id
       where v.account_id = new.account_id and v.test_mode = new.test_mode and v.session_id = new.session_id and v.version = new.version
         and (l.session_id, l.amount_eligible_cents, l.eligibility_class)
           is distinct from (v.session_id, v.amount_eligible_cents, v.eligibility_class)
    )) then 'session_equals_its_latest_split'
    when new.version > 1 and exists (
      select from checkout.session_split_lines v
        join checkout.session_lines l on l.account_id = v.account_id and l.test_mode = v.test_mode and l.id = v.line_id
       where v.account_id = new.account_id and v.test_mode = new.test_mode and v.session_id = new.session_id and v.version = new.version
         and v.eligibility_class = 'letter_of_medical_necessity' and v.amount_eligible_cents > 0
         and not exists (
           select from checkout.letters a
            where a.account_id = v.account_id and a.test_mode = v.test_mode and a.session_id = v.session_id
              and a.product_id = l.product_id and a.status = 'approved')
         and not exists (
           select from checkout.session_existing_letters e
            where e.account_id = v.account_id and e.test_mode = v.test_mode and e.session_id = v.session_id and e.product_id = l.product_id)
    ) then 'session_has_its_letters'
  end into broken;
  if broken is not null then
    raise exception 'version % of the split of session % violates %', new.version, new.session_id, broken
      using errcode = 'check_violation', constraint = broken;
  end if;
  return null;
end $$;
create constraint trigger check_split_version after insert on checkout.session_split_versions
  deferrable initially deferred for each row execute function checkout.check_split_version();

-- As 0060, but that a session and its lines may follow a new version of the split, which the same transaction appends.
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
    if (new.mode, new.amount_subtotal_cents, new.amount_discount_cents, new.amount_tax_cents, new.amount_shipping_cents,
        new.amount_fee_cents, new.amount_total_cents, new.amount_iias_cents,
        new.amount_prescription_cents, new.amount_vision_cents, new.amount_service_cents)
       is distinct from
       (old.mode, old.amount_subtotal_cents, old.amount_discount_cents, old.amount_tax_cents, old.amount_shipping_cents,
        old.amount_fee_cents, old.amount_total_cents, old.amount_iias_cents,
        old.amount_prescription_cents, old.amount_vision_cents, old.amount_service_cents) then
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
              and v.version > 1 and v.xmin = pg_current_xact_id()::xid)) then
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
        new.amount_subtotal_cents, new.amount_discount_cents, new.amount_tax_cents, new.amount_shipping_cents,
        new.amount_fee_cents, new.amount_total_cents,
        new.recurring_interval, new.recurring_interval_count, new.recurring_trial_days)
       is distinct from
       (old.session_id, old.id, old.position, old.price_id, old.product_id, old.quantity, old.unit_amount_cents,
        old.amount_subtotal_cents, old.amount_discount_cents, old.amount_tax_cents, old.amount_shipping_cents,
        old.amount_fee_cents, old.amount_total_cents,
        old.recurring_interval, old.recurring_interval_count, old.recurring_trial_days) then
      raise exception 'a line''s split does not change'
        using errcode = 'check_violation', constraint = 'session_split_is_final';
    end if;
    if (new.amount_eligible_cents, new.eligibility_class) is distinct from (old.amount_eligible_cents, old.eligibility_class)
       and not (new.amount_eligible_cents = 0 and new.eligibility_class = 'not_eligible' and exists (
         select from checkout.session_split_lines v
          where v.account_id = new.account_id and v.test_mode = new.test_mode and v.session_id = new.session_id and v.line_id = new.id
            and v.version > 1 and v.amount_eligible_cents = 0 and v.eligibility_class = 'not_eligible'
            and v.xmin = pg_current_xact_id()::xid)) then
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
