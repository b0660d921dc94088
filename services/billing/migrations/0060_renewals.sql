-- Subscriptions renew: what is next to do for one and when, the lines of each invoice, and each charge that was asked for it.

-- payment_at: when the open invoice is charged next. notice_at: when its trial's end is announced.
-- held_until: no process takes it up before, because one is working on it or the last try could not be finished. due_at is the earliest of all that is to
-- come, on the subscription's own clock, and work_at when a process may take it up by the wall clock.
alter table subscriptions
  add column payment_at timestamptz(3),
  add column notice_at timestamptz(3),
  add column held_until timestamptz(3),
  add column due_at timestamptz(3),
  add column work_at timestamptz(3),
  add constraint notice_of_a_trial check (notice_at is null or status = 'trialing') not valid,
  add constraint past_due_is_charged check (status <> 'past_due' or payment_at is not null) not valid;

-- What is due is that of domain/due-step.ts; a test compares both.
create function set_due() returns trigger language plpgsql as $$
begin
  new.due_at := case when new.status in ('incomplete', 'trialing', 'active', 'past_due', 'unpaid', 'paused') then least(
    new.cancel_at,
    case when new.cancel_at_period_end then new.current_period_end end,
    case when new.status in ('trialing', 'active') and new.payment_at is null then new.current_period_end end,
    new.payment_at, new.notice_at) end;
  new.work_at := case when new.test_clock_id is null and new.due_at is not null then greatest(new.due_at, new.held_until) end;
  return new;
end $$;
create trigger set_due before insert or update on subscriptions for each row execute function set_due();
-- Those that were sold before subscriptions renewed: this transaction has the table to itself since its first statement. One whose period is over is
-- held: nobody agreed to pay all periods since then at once. An operator decides (docs/operations.md, Renewals).
alter table subscriptions no force row level security;
update subscriptions
  set held_until = case when test_clock_id is null and current_period_end <= now() then timestamptz '9999-01-01 00:00:00+00' end
  where status in ('incomplete', 'trialing', 'active', 'past_due', 'unpaid', 'paused');
alter table subscriptions force row level security;

-- Tax and shipping as they were agreed at the sale, for each period.
alter table subscription_items
  add column product_id text collate "C",
  -- What decided its eligibility when it was sold.
  add column sold_by_rule text collate "C",
  add column tax_cents bigint not null default 0,
  add column shipping_cents bigint not null default 0,
  add constraint agreed_amounts check (tax_cents >= 0 and shipping_cents >= 0) not valid;

alter table invoices
  add column number bigint,
  add column eligible_cents bigint not null default 0,
  add column finalized_at timestamptz(3),
  add column attempts smallint not null default 0,
  add column first_failed_at timestamptz(3),
  add column failure_code text collate "C",
  add column decline_code text collate "C",
  -- The card that was refused for good: it is not charged again.
  add column refused_payment_method_id text collate "C",
  add constraint eligible_within_total check (eligible_cents >= 0 and eligible_cents <= total_cents) not valid,
  add constraint backup_charge_statuses check (backup_charge_status in ('pending', 'succeeded', 'failed')) not valid,
  add constraint failures_are_dated check (attempts >= 0 and (attempts > 0) = (first_failed_at is not null)) not valid;

-- The moves are those of domain/invoice-states.ts; a test tries every pair in both. What an invoice costs and what it is for never changes, and what
-- was paid on it stays paid.
create function guard_invoice() returns trigger language plpgsql as $$
begin
  if new.status <> old.status and (old.status, new.status) not in (
    ('draft', 'open'), ('draft', 'void'),
    ('open', 'paid'), ('open', 'void'), ('open', 'uncollectible'),
    ('uncollectible', 'paid'), ('uncollectible', 'void')
  ) then
    raise exception 'an invoice does not move from % to %', old.status, new.status
      using errcode = 'check_violation', constraint = 'invoice_state_table';
  end if;
  if old.status <> 'draft' and (new.total_cents, new.eligible_cents, new.customer_id, new.period_start, new.period_end)
       is distinct from (old.total_cents, old.eligible_cents, old.customer_id, old.period_start, old.period_end)
     or new.subscription_id is distinct from old.subscription_id or (old.number is not null and new.number is distinct from old.number) then
    raise exception 'an invoice is final' using errcode = 'check_violation', constraint = 'invoice_is_final';
  end if;
  if new.amount_paid_cents < old.amount_paid_cents then
    raise exception 'what was paid on an invoice stays paid' using errcode = 'check_violation', constraint = 'invoice_stays_paid';
  end if;
  return new;
end $$;
create trigger guard_invoice before update on invoices for each row execute function guard_invoice();

-- One row for each account and mode: the number of its next invoice.
create table invoice_numbers (
  account_id text collate "C" not null,
  test_mode boolean not null,
  next bigint not null check (next >= 1),
  primary key (account_id, test_mode)
);

-- What a renewal's invoice is made of, and on what basis a health card pays a part of it: written once.
create table invoice_lines (
  account_id text collate "C" not null,
  test_mode boolean not null,
  invoice_id text collate "C" not null,
  position smallint not null check (position >= 0),
  subscription_item_id text collate "C" not null,
  price_id text collate "C" not null,
  product_id text collate "C",
  quantity bigint not null check (quantity >= 1),
  unit_amount_cents bigint not null check (unit_amount_cents >= 0),
  subtotal_cents bigint not null check (subtotal_cents >= 0),
  discount_cents bigint not null check (discount_cents >= 0),
  tax_cents bigint not null check (tax_cents >= 0),
  shipping_cents bigint not null check (shipping_cents >= 0),
  total_cents bigint not null check (total_cents >= 0),
  eligible_cents bigint not null check (eligible_cents >= 0),
  eligibility text collate "C",
  rule text collate "C" not null,
  rule_version text collate "C" not null,
  rationale text not null,
  primary key (account_id, test_mode, invoice_id, position),
  foreign key (account_id, test_mode, invoice_id) references invoices,
  constraint line_subtotal check (subtotal_cents = quantity * unit_amount_cents),
  constraint line_total check (total_cents = subtotal_cents - discount_cents + tax_cents + shipping_cents),
  constraint line_is_eligible_or_not check (eligible_cents in (0, total_cents))
);

create function check_invoice_lines() returns trigger language plpgsql set search_path = billing, pg_temp as $$
declare
  line_total numeric;
  line_eligible numeric;
  invoice record;
begin
  select sum(total_cents), sum(eligible_cents) into line_total, line_eligible from invoice_lines
   where account_id = new.account_id and test_mode = new.test_mode and invoice_id = new.invoice_id;
  select total_cents, eligible_cents into invoice from invoices
   where account_id = new.account_id and test_mode = new.test_mode and id = new.invoice_id;
  if invoice.total_cents <> line_total or invoice.eligible_cents <> line_eligible then
    raise exception 'the lines of an invoice sum to it' using errcode = 'check_violation', constraint = 'invoice_is_the_sum_of_its_lines';
  end if;
  return null;
end $$;
create constraint trigger check_invoice_lines after insert on invoice_lines deferrable initially deferred
  for each row execute function check_invoice_lines();

-- Each charge that checkout is asked for, under its operation id, written before it is asked.
create table invoice_charges (
  account_id text collate "C" not null,
  test_mode boolean not null,
  id text collate "C" not null,
  invoice_id text collate "C" not null,
  leg text collate "C" not null check (leg in ('health', 'other')),
  backup boolean not null,
  payment_method_id text collate "C" not null,
  amount_cents bigint not null check (amount_cents >= 1),
  status text collate "C" not null check (status in ('pending', 'succeeded', 'declined', 'abandoned')),
  acting_at timestamptz(3) not null,
  payment_intent_id text collate "C",
  charge_id text collate "C",
  failure_code text collate "C",
  decline_code text collate "C",
  created_at timestamptz(3) not null default now(),
  settled_at timestamptz(3),
  primary key (account_id, test_mode, id),
  foreign key (account_id, test_mode, invoice_id) references invoices,
  constraint settled_is_dated check ((status = 'pending') = (settled_at is null))
);
-- One card at a time, and each part of an invoice once.
create unique index invoice_charges_one_pending on invoice_charges (account_id, test_mode, invoice_id) where status = 'pending';
create unique index invoice_charges_one_of_a_leg on invoice_charges (account_id, test_mode, invoice_id, leg) where status in ('pending', 'succeeded');
create index invoice_charges_by_invoice on invoice_charges (account_id, test_mode, invoice_id, id);

create function guard_invoice_charge() returns trigger language plpgsql set search_path = billing, pg_temp as $$
declare
  invoice record;
  taken numeric;
begin
  if tg_op = 'UPDATE' then
    if old.status <> 'pending' or new.status = 'pending' then
      raise exception 'a charge does not move from % to %', old.status, new.status
        using errcode = 'check_violation', constraint = 'invoice_charge_state_table';
    end if;
    if (new.invoice_id, new.leg, new.amount_cents, new.payment_method_id, new.acting_at)
         is distinct from (old.invoice_id, old.leg, old.amount_cents, old.payment_method_id, old.acting_at) then
      raise exception 'a charge is what was asked for' using errcode = 'check_violation', constraint = 'invoice_charge_is_final';
    end if;
    return new;
  end if;
  select total_cents, eligible_cents into invoice from invoices
   where account_id = new.account_id and test_mode = new.test_mode and id = new.invoice_id for update;
  select coalesce(sum(amount_cents), 0) into taken from invoice_charges
   where account_id = new.account_id and test_mode = new.test_mode and invoice_id = new.invoice_id and status in ('pending', 'succeeded');
  if taken + new.amount_cents > invoice.total_cents then
    raise exception 'the charges of an invoice do not exceed its total' using errcode = 'check_violation', constraint = 'charges_within_invoice';
  end if;
  if new.leg = 'health' and new.amount_cents > invoice.eligible_cents then
    raise exception 'a health card pays what is eligible' using errcode = 'check_violation', constraint = 'health_charge_within_eligible';
  end if;
  return new;
end $$;
create trigger guard_invoice_charge before insert or update on invoice_charges for each row execute function guard_invoice_charge();

-- How an account duns; without a row, the default.
create table dunning_settings (
  account_id text collate "C" not null,
  test_mode boolean not null,
  retry_days smallint[] not null,
  ends_with text collate "C" not null check (ends_with in ('canceled', 'unpaid')),
  updated_at timestamptz(3) not null,
  primary key (account_id, test_mode),
  constraint retries_are_few check (cardinality(retry_days) between 1 and 10 and 1 <= all (retry_days))
);

do $$
declare name text;
begin
  foreach name in array array['invoice_numbers', 'invoice_lines', 'invoice_charges', 'dunning_settings'] loop
    execute format('alter table %I enable row level security', name);
    execute format('alter table %I force row level security', name);
    execute format($policy$create policy account_scope on %I using (
      account_id = nullif(current_setting('eligo.account_id', true), '')
      and test_mode = (nullif(current_setting('eligo.test_mode', true), ''))::boolean)$policy$, name);
  end loop;
end $$;
revoke delete on invoice_numbers, invoice_lines, invoice_charges, dunning_settings from :"role";
revoke update on invoice_lines from :"role";
