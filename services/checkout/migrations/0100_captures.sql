-- Captures: what was asked of the holds of a session, how it is divided over lines and cards, and what became of it. An intent can be captured
-- several times; each call to the processor is an intent operation, as before.

create table checkout.captures (
  account_id text collate "C" not null,
  test_mode boolean not null,
  id text collate "C" not null,
  session_id text collate "C" not null,
  -- Who asked: the partner for a session or for one payment intent, the checkout page's plan, or an approved letter.
  cause text collate "C" not null,
  status text collate "C" not null,
  amount_cents bigint not null,
  tax_cents bigint not null,
  shipping_cents bigint not null,
  discount_cents bigint not null,
  -- No hold of the session remains once it has succeeded.
  final boolean not null,
  metadata jsonb not null default '{}',
  failure_code text,
  created_at timestamptz(3) not null,
  primary key (account_id, test_mode, id),
  foreign key (account_id, test_mode, session_id) references checkout.sessions (account_id, test_mode, id)
);
-- A session has one unsettled capture, so that what remains is known to the cent.
create unique index captures_one_pending on checkout.captures (account_id, test_mode, session_id) where status = 'pending';
create index captures_by_session on checkout.captures (account_id, test_mode, session_id, id desc);
create index captures_succeeded on checkout.captures (account_id, test_mode, id desc) where status = 'succeeded';

create table checkout.capture_lines (
  account_id text collate "C" not null,
  test_mode boolean not null,
  capture_id text collate "C" not null,
  line_id text collate "C" not null,
  payment_intent_id text collate "C" not null,
  amount_cents bigint not null,
  primary key (account_id, test_mode, capture_id, line_id),
  foreign key (account_id, test_mode, capture_id) references checkout.captures
);

-- The capture that an operation is part of; null for a void, and for a capture that the release before this one began.
alter table checkout.intent_operations add column capture_id text collate "C";
-- Whether nothing of the hold remains after it: a void, a capture of all that is left, a final capture.
alter table checkout.intent_operations add column ends_hold boolean not null default true;
-- What had been captured of the intent before, by which the processor's answer is judged.
alter table checkout.intent_operations add column received_before_cents bigint not null default 0;
-- Which of its keys it uses at the processor: one more for each stored answer that it can get no other answer after.
alter table checkout.intent_operations add column tries integer not null default 0;

-- An operation that waits for the one before it: the cards of a capture are captured one after the other.
alter table checkout.intent_operations
  drop constraint intent_operations_status_check,
  add constraint intent_operations_status_check check (status in ('waiting', 'pending', 'done', 'failed')) not valid;

create function checkout.guard_capture() returns trigger language plpgsql as $$
declare
  broken text;
  whole record;
begin
  if tg_op = 'UPDATE' then
    -- It ends once. A card whose hold was lost makes it smaller as it ends.
    if (new.status <> old.status and old.status <> 'pending')
       or (new.session_id, new.cause, new.final, new.created_at) is distinct from (old.session_id, old.cause, old.final, old.created_at)
       or new.amount_cents > old.amount_cents or new.tax_cents > old.tax_cents or new.shipping_cents > old.shipping_cents
       or new.discount_cents > old.discount_cents
       or (new.status = old.status and (new.amount_cents, new.tax_cents, new.shipping_cents, new.discount_cents)
         is distinct from (old.amount_cents, old.tax_cents, old.shipping_cents, old.discount_cents)) then
      raise exception 'capture % does not change', old.id using errcode = 'check_violation', constraint = 'capture_is_final';
    end if;
  else
    select s.amount_total_cents - s.amount_received_cents as amount, s.amount_tax_cents - s.captured_tax_cents as tax,
        s.amount_shipping_cents - s.captured_shipping_cents as shipping, s.amount_discount_cents - s.captured_discount_cents as discount
      into whole from checkout.sessions s
     where s.account_id = new.account_id and s.test_mode = new.test_mode and s.id = new.session_id;
    broken := case
      when not (new.cause in ('session', 'payment_intent', 'page', 'letter')) then 'captures_cause_check'
      when not (new.amount_cents >= 0 and (new.final or new.amount_cents > 0)) then 'captures_amount_cents_check'
      when not (new.tax_cents >= 0 and new.shipping_cents >= 0 and new.discount_cents >= 0) then 'captures_components_check'
      when not (new.amount_cents <= whole.amount) then 'capture_within_session'
      when not (new.tax_cents <= whole.tax and new.shipping_cents <= whole.shipping and new.discount_cents <= whole.discount)
        then 'capture_within_components'
    end;
  end if;
  if not (new.status in ('pending', 'succeeded', 'failed')) then broken := 'captures_status_check'; end if;
  if broken is not null then
    raise exception 'capture % violates %', new.id, broken using errcode = 'check_violation', constraint = broken;
  end if;
  return new;
end $$;
create trigger guard_capture before insert or update on checkout.captures
  for each row execute function checkout.guard_capture();

-- What a capture takes of a line is there to be taken, and of one card alone.
create function checkout.guard_capture_line() returns trigger language plpgsql as $$
declare
  line record;
begin
  select l.amount_total_cents - l.amount_captured_cents as remaining, l.payment_intent_id, l.session_id into line
    from checkout.session_lines l
   where l.account_id = new.account_id and l.test_mode = new.test_mode and l.id = new.line_id;
  if not (new.amount_cents > 0 and new.amount_cents <= line.remaining) or line.remaining is null then
    raise exception 'capture % takes % of line %', new.capture_id, new.amount_cents, new.line_id
      using errcode = 'check_violation', constraint = 'capture_within_line';
  end if;
  if line.payment_intent_id <> new.payment_intent_id then
    raise exception 'line % is paid by another card', new.line_id
      using errcode = 'check_violation', constraint = 'line_is_paid_by_one_card';
  end if;
  return new;
end $$;
create trigger guard_capture_line before insert on checkout.capture_lines
  for each row execute function checkout.guard_capture_line();

-- An operation takes of its hold what the hold still has. A void and a capture that the release before this one begins take all of it.
create function checkout.guard_intent_operation() returns trigger language plpgsql as $$
declare
  hold record;
begin
  select i.amount_capturable_cents as capturable, i.amount_received_cents as received into hold from checkout.payment_intents i
   where i.account_id = new.account_id and i.test_mode = new.test_mode and i.id = new.payment_intent_id;
  if new.capture_id is not null and (new.amount_cents > hold.capturable or new.received_before_cents <> hold.received
      or (not new.ends_hold and new.amount_cents = hold.capturable)) then
    raise exception 'operation % takes % of a hold of %', new.id, new.amount_cents, hold.capturable
      using errcode = 'check_violation', constraint = 'operation_within_hold';
  end if;
  return new;
end $$;
create trigger guard_intent_operation before insert on checkout.intent_operations
  for each row execute function checkout.guard_intent_operation();

-- A capture is taken of lines and of cards alike, and of each as much as it is.
create function checkout.check_capture_sums() returns trigger language plpgsql as $$
declare
  lines bigint;
  cards bigint;
begin
  select (select coalesce(sum(l.amount_cents), 0) from checkout.capture_lines l
           where l.account_id = new.account_id and l.test_mode = new.test_mode and l.capture_id = new.id),
         (select coalesce(sum(o.amount_cents), 0) from checkout.intent_operations o
           where o.account_id = new.account_id and o.test_mode = new.test_mode and o.capture_id = new.id)
    into lines, cards;
  if lines <> new.amount_cents then
    raise exception 'the lines of capture % sum to % and not to %', new.id, lines, new.amount_cents
      using errcode = 'check_violation', constraint = 'capture_is_the_sum_of_its_lines';
  end if;
  if cards <> new.amount_cents then
    raise exception 'the cards of capture % sum to % and not to %', new.id, cards, new.amount_cents
      using errcode = 'check_violation', constraint = 'capture_is_the_sum_of_its_cards';
  end if;
  return null;
end $$;
create constraint trigger check_capture_sums after insert on checkout.captures
  deferrable initially deferred for each row execute function checkout.check_capture_sums();

do $$
declare name text;
begin
  foreach name in array array['captures', 'capture_lines'] loop
    execute format('alter table checkout.%I enable row level security', name);
    execute format('alter table checkout.%I force row level security', name);
    execute format($policy$create policy own_rows on checkout.%I
      using (account_id = nullif(current_setting('eligo.account_id', true), '')
        and test_mode = nullif(current_setting('eligo.test_mode', true), '')::boolean)$policy$, name);
    execute format('grant select, insert, update on checkout.%I to eligo_checkout', name);
  end loop;
end $$;
revoke update on checkout.capture_lines from eligo_checkout;

-- An intent that is captured in parts has received money while it is still held.
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
    when not ((new.amount_received_cents > 0) = (new.status = 'succeeded')
      or (new.amount_received_cents > 0 and new.status = 'requires_capture')) then 'payment_intents_received_when_succeeded'
  end;
  if broken is not null then
    raise exception 'payment intent % violates %', new.id, broken using errcode = 'check_violation', constraint = broken;
  end if;
  return new;
end $$;

-- The operations of a capture are a kind of work by itself: the release before this one would capture a part as the whole.
create or replace function checkout.due_charge_work(most integer)
returns table (kind text, account_id text, test_mode boolean, id text)
language sql stable security definer set search_path = checkout, pg_temp as $$
  (select 'attempt', d.account_id, d.test_mode, d.id from (
    (select a.account_id, a.test_mode, a.id, a.next_check_at from checkout.charge_attempts a
      where a.status = 'sending' and a.next_check_at <= now() and a.lease_until < now()
      order by a.next_check_at limit most)
    union all
    (select a.account_id, a.test_mode, a.id, a.next_check_at from checkout.charge_attempts a
      where a.status = 'unknown' and a.next_check_at <= now() and a.lease_until < now()
      order by a.next_check_at limit most)
    ) d order by d.next_check_at limit most)
  union all
  (select 'abandoned', a.account_id, a.test_mode, a.id from checkout.charge_attempts a
    where a.status = 'created' and a.next_check_at <= now() and a.lease_until < now() - interval '60 seconds'
      and a.driver <> 'invoice' and not (a.driver = 'page' and exists (
        select from checkout.payment_plans p
         where p.account_id = a.account_id and p.test_mode = a.test_mode and p.session_id = a.subject_id
           and p.state in ('running', 'releasing')))
    order by a.next_check_at limit most)
  union all
  (select case when o.capture_id is null then 'operation' else 'capture' end, o.account_id, o.test_mode, o.id
    from checkout.intent_operations o
    where o.status = 'pending' and o.next_check_at <= now() and o.lease_until < now()
    order by o.next_check_at limit most)
  union all
  (select 'plan', p.account_id, p.test_mode, p.session_id from checkout.payment_plans p
    where p.state in ('running', 'releasing') and p.next_check_at <= now() and p.lease_until < now()
    order by p.next_check_at limit most)
  union all
  (select 'lapsed', p.account_id, p.test_mode, p.session_id from checkout.payment_plans p
    where p.state = 'awaiting_second_card' and p.release_at <= now()
    order by p.release_at limit most)
$$;
