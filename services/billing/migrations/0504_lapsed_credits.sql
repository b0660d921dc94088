-- unpaid_cents: the part of a credit that is for charges that no invoice carried when it was made, so that nobody had paid them. unpaid_invoice_id: the
-- invoice that carries these charges. lapsed_cents: what is no longer credited of that part, because that invoice is void. A process of the release before writes none of
-- them, and gives back the whole credit.
alter table prorations
  add column unpaid_cents bigint not null default 0,
  add column unpaid_invoice_id text collate "C",
  add column lapsed_cents bigint not null default 0,
  add constraint unpaid_within_credit check (unpaid_cents between 0 and amount_cents and (kind = 'credit' or unpaid_cents = 0)) not valid,
  add constraint lapsed_within_unpaid check (lapsed_cents between 0 and unpaid_cents and (lapsed_cents = 0 or unpaid_invoice_id is not null)) not valid;

-- What a change is worth never changes; only what is left of it does, which invoice carries what a credit is for, and what of it lapses.
create or replace function guard_proration() returns trigger language plpgsql as $$
declare
  moving constant text[] := array['left_cents', 'unpaid_invoice_id', 'lapsed_cents'];
begin
  if to_jsonb(new) - moving is distinct from to_jsonb(old) - moving or new.lapsed_cents < old.lapsed_cents
    or (old.unpaid_invoice_id is not null and new.unpaid_invoice_id is distinct from old.unpaid_invoice_id) then
    raise exception 'a proration is final' using errcode = 'check_violation', constraint = 'proration_is_final';
  end if;
  return new;
end $$;

-- What invoices carry of a proration, what is left of it and what has lapsed are all of it.
create or replace function check_proration(account text, mode boolean, proration text) returns void
  language plpgsql set search_path = billing, pg_temp as $$
declare
  known record;
  carried numeric;
begin
  select kind, subscription_id, eligible, amount_cents, left_cents, lapsed_cents into known from prorations p
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
  if carried <> known.amount_cents - known.left_cents - known.lapsed_cents then
    raise exception 'invoices carry a proration once' using errcode = 'check_violation', constraint = 'proration_is_carried_once';
  end if;
end $$;
