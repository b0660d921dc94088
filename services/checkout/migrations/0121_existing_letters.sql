-- An approved letter serves the next sessions of its customer with its product, which then need none.

-- Which letter a session relied on at its creation, for each product.
create table checkout.session_existing_letters (
  account_id text collate "C" not null,
  test_mode boolean not null,
  session_id text collate "C" not null,
  product_id text collate "C" not null,
  letter_id text collate "C" not null,
  primary key (account_id, test_mode, session_id, product_id),
  foreign key (account_id, test_mode, session_id) references checkout.sessions (account_id, test_mode, id),
  foreign key (account_id, test_mode, letter_id) references checkout.letters (account_id, test_mode, id)
);
alter table checkout.session_existing_letters enable row level security;
alter table checkout.session_existing_letters force row level security;
create policy own_rows on checkout.session_existing_letters using (account_id = nullif(current_setting('eligo.account_id', true), '')
  and test_mode = (nullif(current_setting('eligo.test_mode', true), ''))::boolean);
revoke all on checkout.session_existing_letters from eligo_checkout;
grant select, insert on checkout.session_existing_letters to eligo_checkout;

create function checkout.guard_existing_letter() returns trigger language plpgsql as $$
begin
  if not exists (
    select from checkout.letters l
    join checkout.sessions s on s.account_id = l.account_id and s.test_mode = l.test_mode and s.id = new.session_id
     where l.account_id = new.account_id and l.test_mode = new.test_mode and l.id = new.letter_id
       and l.status = 'approved' and l.valid_until > s.created_at and l.product_id = new.product_id and l.customer_id = s.customer_id
  ) then
    raise exception 'letter % does not serve session %', new.letter_id, new.session_id
      using errcode = 'check_violation', constraint = 'existing_letter_is_valid';
  end if;
  return new;
end $$;
create trigger guard_existing_letter before insert on checkout.session_existing_letters
  for each row execute function checkout.guard_existing_letter();

-- As 0003; a session that needs a letter says so, unless it relies on one that its customer has.
create or replace function checkout.check_session_sums() returns trigger language plpgsql as $$
declare
  sums record;
  fees bigint;
  discounts bigint;
  eligible bigint;
begin
  select coalesce(sum(amount_subtotal_cents), 0) as subtotal, coalesce(sum(amount_discount_cents), 0) as discount,
         coalesce(sum(amount_tax_cents), 0) as tax, coalesce(sum(amount_shipping_cents), 0) as shipping,
         coalesce(sum(amount_fee_cents), 0) as fee, coalesce(sum(amount_total_cents), 0) as total,
         coalesce(sum(amount_eligible_cents), 0) as eligible,
         coalesce(sum(amount_eligible_cents)
           filter (where eligibility_class in ('auto_substantiation', 'private_label')), 0) as iias,
         coalesce(sum(amount_eligible_cents) filter (where eligibility_class = 'prescription'), 0) as prescription,
         coalesce(sum(amount_eligible_cents) filter (where eligibility_class = 'vision'), 0) as vision,
         coalesce(sum(amount_eligible_cents) filter (where eligibility_class = 'service'), 0) as service,
         count(*) as lines,
         count(*) filter (where eligibility_class = 'letter_of_medical_necessity' and amount_total_cents > 0) as letters
    into sums
    from checkout.session_lines
   where account_id = new.account_id and test_mode = new.test_mode and session_id = new.id;
  if (sums.subtotal, sums.discount, sums.tax, sums.shipping, sums.fee, sums.total, sums.eligible, sums.iias,
      sums.prescription, sums.vision, sums.service)
     is distinct from
     (new.amount_subtotal_cents, new.amount_discount_cents, new.amount_tax_cents, new.amount_shipping_cents,
      new.amount_fee_cents, new.amount_total_cents, new.amount_eligible_cents, new.amount_iias_cents,
      new.amount_prescription_cents, new.amount_vision_cents, new.amount_service_cents) then
    raise exception 'a session''s lines do not sum to it'
      using errcode = 'check_violation', constraint = 'session_lines_sum_to_session';
  end if;
  if new.fee_count > 0 or new.amount_fee_cents > 0 then
    select coalesce(sum(amount_cents) filter (where applied), 0) into fees from checkout.session_fees
     where account_id = new.account_id and test_mode = new.test_mode and session_id = new.id;
    if fees <> new.amount_fee_cents then
      raise exception 'a session''s fees do not sum to it'
        using errcode = 'check_violation', constraint = 'session_fees_sum_to_session';
    end if;
  end if;
  if new.discount_count > 0 or new.amount_discount_cents > 0 then
    select coalesce(sum(amount_cents), 0) into discounts from checkout.session_discounts
     where account_id = new.account_id and test_mode = new.test_mode and session_id = new.id;
    if discounts <> new.amount_discount_cents then
      raise exception 'a session''s discounts do not sum to it'
        using errcode = 'check_violation', constraint = 'session_discounts_sum_to_session';
    end if;
  end if;
  select eligible_cents into eligible from checkout.eligibility_records
   where account_id = new.account_id and test_mode = new.test_mode and session_id = new.id;
  if sums.lines > 0 and eligible is distinct from new.amount_eligible_cents then
    raise exception 'a session''s eligibility record does not equal it'
      using errcode = 'check_violation', constraint = 'eligibility_record_equals_session';
  end if;
  if sums.letters > 0 and not new.letter_required and exists (
    select from checkout.session_lines l
     where l.account_id = new.account_id and l.test_mode = new.test_mode and l.session_id = new.id
       and l.eligibility_class = 'letter_of_medical_necessity' and l.amount_total_cents > 0
       and not exists (
         select from checkout.session_existing_letters e
          where e.account_id = new.account_id and e.test_mode = new.test_mode and e.session_id = new.id and e.product_id = l.product_id)
  ) then
    raise exception 'session % needs a letter that it does not have', new.id
      using errcode = 'check_violation', constraint = 'session_has_its_letters';
  end if;
  return null;
end $$;
