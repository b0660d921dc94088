-- What a guard asks the database stands behind a condition of its own: PL/pgSQL computes an expression without a subquery by itself, and starts the
-- executor for the whole of one that has a subquery, whether that is reached or not. What several statements read, one reads.
create or replace function checkout.check_session_sums() returns trigger language plpgsql as $$
declare
  sums record;
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
         count(*) filter (where eligibility_class = 'letter_of_medical_necessity' and amount_total_cents > 0) as letters,
         (select r.eligible_cents from checkout.eligibility_records r
           where r.account_id = new.account_id and r.test_mode = new.test_mode and r.session_id = new.id) as record_eligible,
         case when new.fee_count > 0 or new.amount_fee_cents > 0 then
           (select coalesce(sum(f.amount_cents) filter (where f.applied), 0) from checkout.session_fees f
             where f.account_id = new.account_id and f.test_mode = new.test_mode and f.session_id = new.id) end as fees
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
  if sums.fees <> new.amount_fee_cents then
    raise exception 'a session''s fees do not sum to it'
      using errcode = 'check_violation', constraint = 'session_fees_sum_to_session';
  end if;
  if new.discount_count > 0 or new.amount_discount_cents > 0 then
    if (select coalesce(sum(d.amount_cents), 0) from checkout.session_discounts d
         where d.account_id = new.account_id and d.test_mode = new.test_mode and d.session_id = new.id) <> new.amount_discount_cents then
      raise exception 'a session''s discounts do not sum to it'
        using errcode = 'check_violation', constraint = 'session_discounts_sum_to_session';
    end if;
  end if;
  if sums.lines > 0 and sums.record_eligible is distinct from new.amount_eligible_cents then
    raise exception 'a session''s eligibility record does not equal it'
      using errcode = 'check_violation', constraint = 'eligibility_record_equals_session';
  end if;
  if sums.letters > 0 and not new.letter_required then
    if exists (
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
  end if;
  return null;
end $$;

create or replace function checkout.guard_attempt_account() returns trigger language plpgsql as $$
declare
  card record;
begin
  if (new.processor is null) <> (new.processor_account is null) then
    raise exception 'a processor and its account are stored together'
      using errcode = 'check_violation', constraint = 'processor_account_is_whole';
  end if;
  if new.test_mode and new.processor <> 'sandbox' then
    raise exception 'test mode uses the sandbox alone' using errcode = 'check_violation', constraint = 'test_mode_is_at_the_sandbox';
  end if;
  if tg_op = 'UPDATE' then
    if old.processor is not null and (new.processor, new.processor_account) is distinct from (old.processor, old.processor_account) then
      raise exception 'what is at a processor account stays there'
        using errcode = 'check_violation', constraint = 'processor_account_is_final';
    end if;
    return new;
  end if;
  select m.processor, m.processor_account, exists (
      select from checkout.customers c
       where c.account_id = m.account_id and c.test_mode = m.test_mode and c.id = m.customer_id and c.deleted_at is not null) as is_of_deleted
    into card from checkout.payment_methods m
   where m.account_id = new.account_id and m.test_mode = new.test_mode and m.id = new.payment_method_id;
  if card.processor <> new.processor or card.processor_account <> new.processor_account then
    raise exception 'charge attempt % is at another processor account than its card', new.id
      using errcode = 'check_violation', constraint = 'charged_where_the_card_is';
  end if;
  if card.is_of_deleted then
    raise exception 'card % belongs to a deleted customer', new.payment_method_id
      using errcode = 'check_violation', constraint = 'no_card_of_a_deleted_customer';
  end if;
  return new;
end $$;

-- The guard of the account reads the card, and refuses that of a deleted customer as well.
drop trigger guard_card_of_deleted_customer on checkout.charge_attempts;
drop function checkout.guard_card_of_deleted_customer();
