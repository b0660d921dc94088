-- Which card is a health card, and who said so. A known value without a source is the processor's word, from the release before this one.
alter table checkout.payment_methods add column hsa_fsa_source text;
alter table checkout.payment_methods
  add constraint payment_methods_hsa_fsa_source check (hsa_fsa_source in ('processor', 'issuer_range', 'partner', 'shopper')) not valid,
  add constraint payment_methods_source_of_a_kind check (hsa_fsa_source is null or hsa_fsa is not null) not valid;

-- Ineligible items are never charged to a card that is a health card, nor those of a session to a card of which it is not known. A confirm charges
-- the eligible part only, so that its attempts do not come here.
create function checkout.guard_ineligible_charge() returns trigger language plpgsql as $$
declare
  is_health boolean;
begin
  select m.hsa_fsa into is_health from checkout.payment_methods m
   where m.account_id = new.account_id and m.test_mode = new.test_mode and m.id = new.payment_method_id;
  if is_health or (is_health is null and new.purpose = 'session') then
    raise exception 'card % may be a health card: it pays eligible amounts only', new.payment_method_id
      using errcode = 'check_violation', constraint = 'ineligible_only_on_other_cards';
  end if;
  return new;
end $$;
create trigger guard_ineligible_charge before insert on checkout.charge_attempts
  for each row when (new.leg = 'other') execute function checkout.guard_ineligible_charge();

-- The operator's list of issuer ranges: the first eight digits of a card, from the first to the last of a range. Kept for all accounts.
create table checkout.issuer_ranges (
  digits int4range primary key,
  hsa_fsa boolean not null,
  constraint issuer_ranges_are_whole check (
    not isempty(digits) and lower(digits) >= 0 and upper(digits) <= 100000000 and lower_inc(digits) and not upper_inc(digits)),
  constraint issuer_ranges_do_not_overlap exclude using gist (digits with &&)
);
grant select, insert, delete on checkout.issuer_ranges to :"role";
