-- What changes of items within a period are worth, and the invoices that carry it.

-- left_cents: what no invoice carries yet. A credit may be used by several invoices, a charge is on one.
create table prorations (
  account_id text collate "C" not null,
  test_mode boolean not null,
  id text collate "C" not null,
  subscription_id text collate "C" not null,
  subscription_item_id text collate "C" not null,
  kind text collate "C" not null check (kind in ('credit', 'charge')),
  price_id text collate "C" not null,
  product_id text collate "C",
  quantity bigint not null check (quantity >= 1),
  whole_cents bigint not null check (whole_cents >= 1),
  subtotal_cents bigint not null check (subtotal_cents >= 0),
  discount_cents bigint not null check (discount_cents >= 0),
  tax_cents bigint not null check (tax_cents >= 0),
  shipping_cents bigint not null check (shipping_cents >= 0),
  amount_cents bigint not null check (amount_cents >= 1),
  eligible boolean not null,
  eligibility text collate "C",
  rule text collate "C" not null,
  rule_version text collate "C" not null,
  rationale text not null,
  letter_id text collate "C",
  period_start timestamptz(3) not null,
  period_end timestamptz(3) not null,
  left_cents bigint not null,
  created_at timestamptz(3) not null,
  primary key (account_id, test_mode, id),
  foreign key (account_id, test_mode, subscription_id) references subscriptions,
  constraint proration_total check (amount_cents = subtotal_cents - discount_cents + tax_cents + shipping_cents),
  constraint proration_within_period check (amount_cents <= whole_cents),
  constraint proration_has_a_length check (period_end > period_start),
  constraint left_within_amount check (left_cents between 0 and amount_cents),
  constraint charge_is_whole check (kind = 'credit' or left_cents in (0, amount_cents)),
  constraint charge_eligible_by_its_letter check (
    kind = 'credit' or not eligible or eligibility is distinct from 'letter_of_medical_necessity' or letter_id is not null)
);
create index prorations_pending on prorations (account_id, test_mode, subscription_id, id) where left_cents > 0;

-- The part of each credit by which an invoice is reduced: written once.
create table invoice_credits (
  account_id text collate "C" not null,
  test_mode boolean not null,
  invoice_id text collate "C" not null,
  proration_id text collate "C" not null,
  amount_cents bigint not null check (amount_cents >= 1),
  eligible boolean not null,
  primary key (account_id, test_mode, invoice_id, proration_id),
  foreign key (account_id, test_mode, invoice_id) references invoices,
  foreign key (account_id, test_mode, proration_id) references prorations
);
create index invoice_credits_by_proration on invoice_credits (account_id, test_mode, proration_id);

alter table invoice_lines add column proration_id text collate "C";

do $$
declare name text;
begin
  foreach name in array array['prorations', 'invoice_credits'] loop
    execute format('alter table %I enable row level security', name);
    execute format('alter table %I force row level security', name);
    execute format($policy$create policy account_scope on %I using (
      account_id = nullif(current_setting('eligo.account_id', true), '')
      and test_mode = (nullif(current_setting('eligo.test_mode', true), ''))::boolean)$policy$, name);
  end loop;
end $$;
revoke delete on prorations, invoice_credits from :"role";
revoke update on invoice_credits from :"role";

-- What a change is worth never changes; only what is left of it does.
create function guard_proration() returns trigger language plpgsql as $$
begin
  if to_jsonb(new) - 'left_cents' is distinct from to_jsonb(old) - 'left_cents' then
    raise exception 'a proration is final' using errcode = 'check_violation', constraint = 'proration_is_final';
  end if;
  return new;
end $$;
create trigger guard_proration before update on prorations for each row execute function guard_proration();

-- An invoice is the sum of its lines less its credits, for the part that a health card may pay and for all of it.
create or replace function check_invoice_lines() returns trigger language plpgsql set search_path = billing, pg_temp as $$
declare
  line_total numeric;
  line_eligible numeric;
  credit_total numeric;
  credit_eligible numeric;
  invoice record;
begin
  select coalesce(sum(total_cents), 0), coalesce(sum(eligible_cents), 0) into line_total, line_eligible from invoice_lines
   where account_id = new.account_id and test_mode = new.test_mode and invoice_id = new.invoice_id;
  select coalesce(sum(amount_cents), 0), coalesce(sum(amount_cents) filter (where eligible), 0) into credit_total, credit_eligible from invoice_credits
   where account_id = new.account_id and test_mode = new.test_mode and invoice_id = new.invoice_id;
  select total_cents, eligible_cents into invoice from invoices
   where account_id = new.account_id and test_mode = new.test_mode and id = new.invoice_id;
  if invoice.total_cents <> line_total - credit_total or invoice.eligible_cents <> line_eligible - credit_eligible then
    raise exception 'the lines of an invoice sum to it' using errcode = 'check_violation', constraint = 'invoice_is_the_sum_of_its_lines';
  end if;
  return null;
end $$;
create constraint trigger check_invoice_credits after insert on invoice_credits deferrable initially deferred
  for each row execute function check_invoice_lines();

-- What invoices carry of a proration and what is left of it are all of it. What a void invoice has used of a credit is left again.
create function check_proration(account text, mode boolean, proration text) returns void
  language plpgsql set search_path = billing, pg_temp as $$
declare
  known record;
  carried numeric;
begin
  select kind, subscription_id, eligible, amount_cents, left_cents into known from prorations p
   where p.account_id = account and p.test_mode = mode and p.id = proration;
  if not found then
    raise exception 'a line is of a proration' using errcode = 'check_violation', constraint = 'proration_is_carried_once';
  end if;
  if known.kind = 'credit' then
    select coalesce(sum(c.amount_cents), 0) into carried from invoice_credits c
      join invoices i on i.account_id = c.account_id and i.test_mode = c.test_mode and i.id = c.invoice_id
     where c.account_id = account and c.test_mode = mode and c.proration_id = proration and c.eligible = known.eligible
       and i.subscription_id = known.subscription_id and i.status <> 'void';
  else
    select coalesce(sum(l.total_cents), 0) into carried from invoice_lines l
      join invoices i on i.account_id = l.account_id and i.test_mode = l.test_mode and i.id = l.invoice_id
     where l.account_id = account and l.test_mode = mode and l.proration_id = proration and (l.eligible_cents > 0) = known.eligible
       and i.subscription_id = known.subscription_id;
  end if;
  if carried <> known.amount_cents - known.left_cents then
    raise exception 'invoices carry a proration once' using errcode = 'check_violation', constraint = 'proration_is_carried_once';
  end if;
end $$;
create function check_changed_proration() returns trigger language plpgsql set search_path = billing, pg_temp as $$
begin
  perform check_proration(new.account_id, new.test_mode, new.id);
  return null;
end $$;
create function check_carried_proration() returns trigger language plpgsql set search_path = billing, pg_temp as $$
begin
  perform check_proration(new.account_id, new.test_mode, new.proration_id);
  return null;
end $$;
create function check_credits_of_void_invoice() returns trigger language plpgsql set search_path = billing, pg_temp as $$
begin
  perform check_proration(c.account_id, c.test_mode, c.proration_id) from invoice_credits c
   where c.account_id = new.account_id and c.test_mode = new.test_mode and c.invoice_id = new.id;
  return null;
end $$;
create constraint trigger check_changed_proration after insert or update on prorations deferrable initially deferred
  for each row execute function check_changed_proration();
create constraint trigger check_carried_proration after insert on invoice_credits deferrable initially deferred
  for each row execute function check_carried_proration();
create constraint trigger check_carried_proration after insert on invoice_lines deferrable initially deferred
  for each row when (new.proration_id is not null) execute function check_carried_proration();
create constraint trigger check_credits_of_void_invoice after update on invoices deferrable initially deferred
  for each row when (new.status = 'void' and old.status <> 'void') execute function check_credits_of_void_invoice();
