-- Money received: intents, the attempts that drive them, holds, the ledger, and what refunds have taken out.

create table checkout.payment_intents (
  account_id text collate "C" not null,
  test_mode boolean not null,
  id text collate "C" not null,
  session_id text collate "C",
  invoice_id text collate "C",
  subscription_id text collate "C",
  customer_id text collate "C",
  payment_method_id text collate "C",
  leg text not null check (leg in ('health', 'other')),
  capture_method text not null check (capture_method in ('automatic', 'manual')),
  status text not null check (status in (
    'requires_payment_method', 'requires_action', 'processing', 'requires_capture', 'succeeded', 'canceled')),
  amount_cents bigint not null check (amount_cents >= 50 and amount_cents <= 9007199254740991),
  amount_capturable_cents bigint not null default 0 check (amount_capturable_cents >= 0),
  amount_received_cents bigint not null default 0 check (amount_received_cents >= 0),
  amount_refunded_cents bigint not null default 0 check (amount_refunded_cents >= 0),
  processor_intent_id text,
  latest_charge_id text collate "C",
  metadata jsonb not null default '{}',
  created_at timestamptz(3) not null,
  primary key (account_id, test_mode, id),
  constraint payment_intents_has_subject check (session_id is not null or invoice_id is not null),
  -- Refunded <= captured <= authorized, for each card.
  constraint payment_intents_received_within_amount check (amount_received_cents + amount_capturable_cents <= amount_cents),
  constraint payment_intents_refunded_within_received check (amount_refunded_cents <= amount_received_cents),
  constraint payment_intents_received_when_succeeded check ((amount_received_cents > 0) = (status = 'succeeded'))
);
create index payment_intents_by_session on checkout.payment_intents (account_id, test_mode, session_id, id desc)
  where session_id is not null;
create index payment_intents_by_customer on checkout.payment_intents (account_id, test_mode, customer_id, id desc)
  where customer_id is not null;

create table checkout.charges (
  account_id text collate "C" not null,
  test_mode boolean not null,
  id text collate "C" not null,
  payment_intent_id text collate "C" not null,
  payment_method_id text collate "C",
  status text not null check (status in ('succeeded', 'pending', 'failed')),
  amount_cents bigint not null check (amount_cents > 0),
  amount_captured_cents bigint not null default 0 check (amount_captured_cents >= 0),
  amount_refunded_cents bigint not null default 0 check (amount_refunded_cents >= 0),
  failure_code text,
  decline_code text,
  processor_charge_id text,
  balance_transaction_id text collate "C",
  disputed boolean not null default false,
  created_at timestamptz(3) not null,
  primary key (account_id, test_mode, id),
  constraint charges_captured_within_amount check (amount_captured_cents <= amount_cents),
  constraint charges_refunded_within_captured check (amount_refunded_cents <= amount_captured_cents),
  foreign key (account_id, test_mode, payment_intent_id) references checkout.payment_intents
);
create index charges_by_payment_intent on checkout.charges (account_id, test_mode, payment_intent_id, id desc);
create unique index charges_by_processor on checkout.charges (account_id, test_mode, processor_charge_id)
  where processor_charge_id is not null and status <> 'failed';

-- One try to move money: its id is part of every processor key, and its row outlives any process.
create table checkout.charge_attempts (
  account_id text collate "C" not null,
  test_mode boolean not null,
  id text collate "C" not null,
  purpose text not null check (purpose in ('session', 'invoice')),
  subject_id text collate "C" not null,
  leg text not null check (leg in ('health', 'other')),
  -- Who settles what follows a success: the confirm call, the checkout page's plan, or billing's operation.
  driver text not null check (driver in ('confirm', 'page', 'invoice')),
  eligibility_record_id text collate "C",
  payment_intent_id text collate "C" not null,
  customer_id text collate "C",
  payment_method_id text collate "C" not null,
  -- The processor's names for the card and its owner as of the attempt: a resend sends the same bytes.
  processor_payment_method_id text not null,
  processor_customer_id text,
  off_session boolean not null,
  capture_method text not null check (capture_method in ('automatic', 'manual')),
  amount_cents bigint not null check (amount_cents >= 50 and amount_cents <= 9007199254740991),
  status text not null check (status in (
    'created', 'sending', 'unknown', 'succeeded', 'declined', 'failed', 'abandoned', 'released')),
  epoch integer not null default 1,
  lease_until timestamptz not null,
  sends integer not null default 0,
  sent_at timestamptz,
  next_check_at timestamptz not null default now(),
  checks integer not null default 0,
  processor_intent_id text,
  failure_code text,
  decline_code text,
  -- What of the amount is for health care, by its disjoint buckets; a healthcare amount never exceeds the tender that it is sent with.
  iias_cents bigint not null default 0 check (iias_cents >= 0),
  prescription_cents bigint not null default 0 check (prescription_cents >= 0),
  vision_cents bigint not null default 0 check (vision_cents >= 0),
  service_cents bigint not null default 0 check (service_cents >= 0),
  -- Records that the request asked to be kept with its answer.
  expand text[] not null default '{}',
  acting_at timestamptz(3) not null,
  created_at timestamptz not null default now(),
  primary key (account_id, test_mode, id),
  constraint charge_attempts_sent_has_intent check (status in ('created', 'abandoned', 'declined', 'failed') or processor_intent_id is not null),
  constraint charge_attempts_healthcare_within_amount
    check (iias_cents + prescription_cents + vision_cents + service_cents <= amount_cents),
  foreign key (account_id, test_mode, payment_intent_id) references checkout.payment_intents
);
-- One live charge for each leg of a subject and for each eligibility record, whatever the keys and crashes.
create unique index charge_attempts_one_live on checkout.charge_attempts (account_id, test_mode, purpose, subject_id, leg)
  where status in ('created', 'sending', 'unknown', 'succeeded');
create unique index charge_attempts_one_per_eligibility_record
  on checkout.charge_attempts (account_id, test_mode, eligibility_record_id)
  where status in ('created', 'sending', 'unknown', 'succeeded') and eligibility_record_id is not null;
create unique index charge_attempts_by_processor_intent on checkout.charge_attempts (account_id, test_mode, processor_intent_id)
  where processor_intent_id is not null;
-- What the sweeper looks for; a few rows at any time.
create index charge_attempts_unsettled on checkout.charge_attempts (next_check_at)
  where status in ('created', 'sending', 'unknown');

create function checkout.keep_charge_attempt_terminal() returns trigger language plpgsql as $$
begin
  if old.status <> new.status and not (
    (old.status = 'created' and new.status in ('sending', 'abandoned', 'declined', 'failed')) or
    (old.status = 'sending' and new.status in ('succeeded', 'declined', 'failed', 'unknown')) or
    (old.status = 'unknown' and new.status in ('sending', 'succeeded', 'declined', 'failed')) or
    (old.status = 'succeeded' and new.status = 'released')
  ) then
    raise exception 'charge attempt % cannot go from % to %', old.id, old.status, new.status using errcode = 'check_violation';
  end if;
  return new;
end $$;
create trigger charge_attempts_states before update of status on checkout.charge_attempts
  for each row execute function checkout.keep_charge_attempt_terminal();

-- A customer or a card is in use by one charge at a time. Leases, not advisory locks: they survive a lost connection and fence.
create table checkout.payment_locks (
  account_id text collate "C" not null,
  test_mode boolean not null,
  kind text not null check (kind in ('customer', 'payment_method')),
  id text collate "C" not null,
  attempt_id text collate "C" not null,
  lease_until timestamptz not null,
  primary key (account_id, test_mode, kind, id)
) with (fillfactor = 70);
create index payment_locks_by_attempt on checkout.payment_locks (account_id, test_mode, attempt_id);

-- What must still be done to an authorized intent at the processor: take the money, or let it go.
create table checkout.intent_operations (
  account_id text collate "C" not null,
  test_mode boolean not null,
  id text collate "C" not null,
  payment_intent_id text collate "C" not null,
  attempt_id text collate "C" not null,
  processor_intent_id text not null,
  kind text not null check (kind in ('capture', 'cancel')),
  amount_cents bigint not null check (amount_cents > 0),
  status text not null check (status in ('pending', 'done', 'failed')),
  epoch integer not null default 1,
  lease_until timestamptz not null default now(),
  next_check_at timestamptz not null default now(),
  checks integer not null default 0,
  failure_code text,
  acting_at timestamptz(3) not null,
  created_at timestamptz not null default now(),
  primary key (account_id, test_mode, id),
  foreign key (account_id, test_mode, payment_intent_id) references checkout.payment_intents
);
-- A hold is either captured or let go, never both.
create unique index intent_operations_one_per_intent on checkout.intent_operations (account_id, test_mode, payment_intent_id)
  where status in ('pending', 'done');
create index intent_operations_unsettled on checkout.intent_operations (next_check_at) where status = 'pending';

-- What a shopper's cards are to pay, and how far that has come.
create table checkout.payment_plans (
  account_id text collate "C" not null,
  test_mode boolean not null,
  session_id text collate "C" not null,
  id text collate "C" not null,
  state text not null check (state in ('running', 'awaiting_second_card', 'awaiting_capture', 'releasing', 'done', 'failed')),
  health_cents bigint not null default 0 check (health_cents >= 0),
  other_cents bigint not null default 0 check (other_cents >= 0),
  health_payment_method_id text collate "C",
  other_payment_method_id text collate "C",
  health_attempt_id text collate "C",
  other_attempt_id text collate "C",
  holds_only boolean not null default false,
  release_at timestamptz,
  epoch integer not null default 1,
  lease_until timestamptz not null,
  next_check_at timestamptz not null default now(),
  acting_at timestamptz(3) not null,
  created_at timestamptz not null default now(),
  primary key (account_id, test_mode, session_id, id),
  constraint payment_plans_health_has_card check (health_cents = 0 or health_payment_method_id is not null)
);
create unique index payment_plans_one_live on checkout.payment_plans (account_id, test_mode, session_id)
  where state not in ('done', 'failed');
create index payment_plans_unsettled on checkout.payment_plans (next_check_at) where state in ('running', 'releasing');
create index payment_plans_lapsing on checkout.payment_plans (release_at) where state = 'awaiting_second_card';

create table checkout.setup_intents (
  account_id text collate "C" not null,
  test_mode boolean not null,
  id text collate "C" not null,
  status text not null check (status in ('requires_payment_method', 'processing', 'succeeded', 'canceled')),
  customer_id text collate "C",
  payment_method_id text collate "C",
  session_id text collate "C",
  created_at timestamptz(3) not null,
  primary key (account_id, test_mode, id)
);

-- Every movement is one row with both its sides, so that it balances by its shape. Append-only: the role may not update or delete.
create table checkout.ledger_entries (
  account_id text collate "C" not null,
  test_mode boolean not null,
  id text collate "C" not null,
  debit_account text not null,
  credit_account text not null check (credit_account <> debit_account),
  amount_cents bigint not null check (amount_cents > 0),
  kind text not null check (kind in ('capture', 'refund_reserved', 'refund_released')),
  payment_intent_id text collate "C" not null,
  -- What caused it: the charge or the refund; with the intent and the kind, once.
  source_id text collate "C" not null,
  created_at timestamptz(3) not null,
  primary key (account_id, test_mode, id)
);
create unique index ledger_entries_once on checkout.ledger_entries (account_id, test_mode, source_id, payment_intent_id, kind);

-- A refund as it was taken out of what remains: its whole, its components, its lines and its cards.
create table checkout.refund_reservations (
  account_id text collate "C" not null,
  test_mode boolean not null,
  refund_id text collate "C" not null,
  session_id text collate "C",
  payment_intent_id text collate "C",
  amount_cents bigint not null check (amount_cents > 0),
  tax_cents bigint not null default 0 check (tax_cents >= 0),
  shipping_cents bigint not null default 0 check (shipping_cents >= 0),
  discount_cents bigint not null default 0 check (discount_cents >= 0),
  acting_at timestamptz(3) not null,
  primary key (account_id, test_mode, refund_id),
  check (session_id is not null or payment_intent_id is not null)
);
create table checkout.refund_reservation_parts (
  account_id text collate "C" not null,
  test_mode boolean not null,
  refund_id text collate "C" not null,
  payment_intent_id text collate "C" not null,
  amount_cents bigint not null check (amount_cents > 0),
  released boolean not null default false,
  primary key (account_id, test_mode, refund_id, payment_intent_id),
  foreign key (account_id, test_mode, refund_id) references checkout.refund_reservations
);
create table checkout.refund_reservation_lines (
  account_id text collate "C" not null,
  test_mode boolean not null,
  refund_id text collate "C" not null,
  line_id text collate "C" not null,
  payment_intent_id text collate "C" not null,
  amount_cents bigint not null check (amount_cents > 0),
  primary key (account_id, test_mode, refund_id, line_id),
  foreign key (account_id, test_mode, refund_id) references checkout.refund_reservations
);

do $$
declare name text;
begin
  foreach name in array array['payment_intents', 'charges', 'charge_attempts', 'payment_locks', 'intent_operations',
    'payment_plans', 'setup_intents', 'ledger_entries', 'refund_reservations', 'refund_reservation_parts',
    'refund_reservation_lines']
  loop
    execute format('alter table checkout.%I enable row level security', name);
    execute format('alter table checkout.%I force row level security', name);
    execute format($policy$create policy own_rows on checkout.%I
      using (account_id = nullif(current_setting('eligo.account_id', true), '')
        and test_mode = nullif(current_setting('eligo.test_mode', true), '')::boolean)$policy$, name);
    execute format('grant select, insert, update, delete on checkout.%I to eligo_checkout', name);
  end loop;
end $$;
revoke update, delete on checkout.ledger_entries from eligo_checkout;

-- The sweepers find what is due across accounts by id, and then work in that account's context.
grant usage on schema checkout to eligo_finder;
grant select on checkout.charge_attempts, checkout.intent_operations, checkout.payment_plans to eligo_finder;
create policy finder on checkout.charge_attempts for select to eligo_finder using (true);
create policy finder on checkout.intent_operations for select to eligo_finder using (true);
create policy finder on checkout.payment_plans for select to eligo_finder using (true);

create function checkout.due_charge_work(most integer)
returns table (kind text, account_id text, test_mode boolean, id text)
language sql stable security definer set search_path = checkout, pg_temp as $$
  (select 'attempt', a.account_id, a.test_mode, a.id from checkout.charge_attempts a
    where a.status in ('sending', 'unknown') and a.next_check_at <= now() and a.lease_until < now()
    order by a.next_check_at limit most)
  union all
  (select 'abandoned', a.account_id, a.test_mode, a.id from checkout.charge_attempts a
    where a.status = 'created' and a.next_check_at <= now() and a.lease_until < now() - interval '60 seconds'
    order by a.next_check_at limit most)
  union all
  (select 'operation', o.account_id, o.test_mode, o.id from checkout.intent_operations o
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
alter function checkout.due_charge_work(integer) owner to eligo_finder;
revoke all on function checkout.due_charge_work(integer) from public;
grant execute on function checkout.due_charge_work(integer) to eligo_checkout;
