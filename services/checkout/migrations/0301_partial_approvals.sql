-- Partial approvals: a health card that is short of money is approved for a part of what was asked, and another card pays the rest.
alter table checkout.capture_lines drop constraint capture_lines_pkey,
  add constraint capture_lines_pkey primary key using index capture_lines_by_card;
alter table checkout.refund_reservation_lines drop constraint refund_reservation_lines_pkey,
  add constraint refund_reservation_lines_pkey primary key using index refund_reservation_lines_by_card;

-- Whether a part may be approved, and, where a part was, what was asked for: the amount is then the part.
alter table checkout.payment_plans add column accepts_part boolean not null default false, add column asked_cents bigint;
alter table checkout.charge_attempts add column accepts_part boolean not null default false, add column asked_cents bigint;

-- Only what was asked for counts, and only once: a hold on the health card, smaller than what was asked, with enough left for another card.
create function checkout.guard_approved_part() returns trigger language plpgsql as $$
begin
  if new.accepts_part <> old.accepts_part and not (old.status = 'created' and new.accepts_part
      and new.leg = 'health' and new.driver = 'page' and new.capture_method = 'manual') then
    raise exception 'charge attempt % cannot accept a part', old.id
      using errcode = 'check_violation', constraint = 'only_a_hold_accepts_a_part';
  end if;
  if (new.amount_cents, new.asked_cents) is distinct from (old.amount_cents, old.asked_cents) and not (
    old.accepts_part and old.asked_cents is null and new.asked_cents = old.amount_cents
    and new.amount_cents between 50 and old.amount_cents - 50 and old.status in ('sending', 'unknown')
  ) then
    raise exception 'charge attempt % was not asked to accept a part', old.id
      using errcode = 'check_violation', constraint = 'approved_part_was_asked_for';
  end if;
  return new;
end $$;
create trigger guard_approved_part before update of accepts_part, amount_cents, asked_cents on checkout.charge_attempts
  for each row execute function checkout.guard_approved_part();

-- What an intent comes to changes only as its hold begins.
create function checkout.guard_intent_amount() returns trigger language plpgsql as $$
begin
  if not (old.status = 'processing' and new.status = 'requires_capture' and new.leg = 'health' and new.amount_cents < old.amount_cents) then
    raise exception 'the amount of payment intent % does not change', old.id
      using errcode = 'check_violation', constraint = 'intent_amount_is_final';
  end if;
  return new;
end $$;
create trigger guard_intent_amount before update of amount_cents on checkout.payment_intents
  for each row when (new.amount_cents <> old.amount_cents) execute function checkout.guard_intent_amount();

-- Which card pays what of each line of a session whose health card was approved for a part. Other sessions have none: each of their lines is paid with
-- one card. Tenders whose hold was voided stay, and count for nothing.
create table checkout.line_tenders (
  account_id text collate "C" not null,
  test_mode boolean not null,
  session_id text collate "C" not null,
  line_id text collate "C" not null,
  payment_intent_id text collate "C" not null,
  amount_cents bigint not null,
  captured_cents bigint not null default 0,
  refunded_cents bigint not null default 0,
  primary key (account_id, test_mode, session_id, line_id, payment_intent_id),
  foreign key (account_id, test_mode, line_id) references checkout.session_lines (account_id, test_mode, id),
  foreign key (account_id, test_mode, payment_intent_id) references checkout.payment_intents (account_id, test_mode, id),
  constraint tender_within_its_amount check (
    amount_cents > 0 and captured_cents between 0 and amount_cents and refunded_cents between 0 and captured_cents)
);
alter table checkout.line_tenders enable row level security;
alter table checkout.line_tenders force row level security;
create policy own_rows on checkout.line_tenders
  using (account_id = nullif(current_setting('eligo.account_id', true), '')
    and test_mode = nullif(current_setting('eligo.test_mode', true), '')::boolean);
revoke update, delete, truncate on checkout.line_tenders from :"role";
grant select, insert on checkout.line_tenders to :"role";
grant update (captured_cents, refunded_cents) on checkout.line_tenders to :"role";

create function checkout.guard_line_tender() returns trigger language plpgsql as $$
declare
  whole record;
begin
  select i.leg, i.session_id, i.status, l.session_id as line_session_id, l.amount_eligible_cents as eligible into whole
    from checkout.payment_intents i, checkout.session_lines l
   where i.account_id = new.account_id and i.test_mode = new.test_mode and i.id = new.payment_intent_id
     and l.account_id = new.account_id and l.test_mode = new.test_mode and l.id = new.line_id;
  if whole.session_id is distinct from new.session_id or whole.line_session_id is distinct from new.session_id
      or whole.status <> 'requires_capture' then
    raise exception 'line % is not held on payment intent %', new.line_id, new.payment_intent_id
      using errcode = 'check_violation', constraint = 'tender_is_of_a_hold';
  end if;
  if whole.leg = 'health' and new.amount_cents > whole.eligible then
    raise exception 'the health card pays % of line %', new.amount_cents, new.line_id
      using errcode = 'check_violation', constraint = 'health_tender_is_eligible';
  end if;
  return new;
end $$;
create trigger guard_line_tender before insert on checkout.line_tenders
  for each row execute function checkout.guard_line_tender();

-- At commit: the cards pay each line whole, and each card what it holds; and what was captured and refunded of a line is what was of its tenders.
create function checkout.check_line_tender() returns trigger language plpgsql as $$
declare
  of_line record;
  of_card bigint;
begin
  select l.amount_total_cents as total, l.amount_captured_cents as captured, l.amount_refunded_cents as refunded,
      coalesce(sum(t.amount_cents) filter (where i.status <> 'canceled'), 0) as tendered,
      coalesce(sum(t.captured_cents), 0) as tenders_captured, coalesce(sum(t.refunded_cents), 0) as tenders_refunded
    into of_line
    from checkout.session_lines l
    join checkout.line_tenders t on t.account_id = l.account_id and t.test_mode = l.test_mode and t.session_id = l.session_id
      and t.line_id = l.id
    join checkout.payment_intents i on i.account_id = t.account_id and i.test_mode = t.test_mode and i.id = t.payment_intent_id
   where l.account_id = new.account_id and l.test_mode = new.test_mode and l.id = new.line_id
   group by l.amount_total_cents, l.amount_captured_cents, l.amount_refunded_cents;
  if (of_line.tenders_captured, of_line.tenders_refunded) is distinct from (of_line.captured, of_line.refunded) then
    raise exception 'of line % was captured % and refunded %, and of its tenders % and %', new.line_id, of_line.captured, of_line.refunded,
      of_line.tenders_captured, of_line.tenders_refunded
      using errcode = 'check_violation', constraint = 'line_money_is_its_tenders';
  end if;
  if tg_op = 'UPDATE' then
    return null;
  end if;
  if of_line.tendered <> of_line.total then
    raise exception 'the tenders of line % come to % and not to %', new.line_id, of_line.tendered, of_line.total
      using errcode = 'check_violation', constraint = 'line_is_the_sum_of_its_tenders';
  end if;
  select sum(t.amount_cents) - i.amount_cents into of_card
    from checkout.payment_intents i
    join checkout.line_tenders t on t.account_id = i.account_id and t.test_mode = i.test_mode and t.payment_intent_id = i.id
     and t.session_id = i.session_id
   where i.account_id = new.account_id and i.test_mode = new.test_mode and i.id = new.payment_intent_id
   group by i.amount_cents;
  if of_card <> 0 then
    raise exception 'the tenders of payment intent % differ from it by %', new.payment_intent_id, of_card
      using errcode = 'check_violation', constraint = 'card_is_the_sum_of_its_tenders';
  end if;
  return null;
end $$;
create constraint trigger check_line_tender after insert or update on checkout.line_tenders
  deferrable initially deferred for each row execute function checkout.check_line_tender();

-- As before; a line with tenders is captured on each card up to its tender.
create or replace function checkout.guard_capture_line() returns trigger language plpgsql as $$
declare
  line record;
  tender_left bigint;
begin
  select l.amount_total_cents - l.amount_captured_cents as remaining, l.payment_intent_id, l.session_id into line
    from checkout.session_lines l
   where l.account_id = new.account_id and l.test_mode = new.test_mode and l.id = new.line_id;
  if not (new.amount_cents > 0 and new.amount_cents <= line.remaining) or line.remaining is null then
    raise exception 'capture % takes % of line %', new.capture_id, new.amount_cents, new.line_id
      using errcode = 'check_violation', constraint = 'capture_within_line';
  end if;
  select t.amount_cents - t.captured_cents into tender_left from checkout.line_tenders t
   where t.account_id = new.account_id and t.test_mode = new.test_mode and t.session_id = line.session_id and t.line_id = new.line_id
     and t.payment_intent_id = new.payment_intent_id;
  if found then
    if new.amount_cents > tender_left then
      raise exception 'capture % takes % of the tender of line %', new.capture_id, new.amount_cents, new.line_id
        using errcode = 'check_violation', constraint = 'capture_within_tender';
    end if;
  elsif line.payment_intent_id <> new.payment_intent_id then
    raise exception 'line % is paid by another card', new.line_id
      using errcode = 'check_violation', constraint = 'line_is_paid_by_one_card';
  end if;
  return new;
end $$;
