-- A card of which it is not known whether it is a health card pays no ineligible items of an invoice either, as it pays none of a session.
create or replace function checkout.guard_ineligible_charge() returns trigger language plpgsql as $$
declare
  is_health boolean;
begin
  select m.hsa_fsa into is_health from checkout.payment_methods m
   where m.account_id = new.account_id and m.test_mode = new.test_mode and m.id = new.payment_method_id;
  if is_health is distinct from false then
    raise exception 'card % may be a health card: it pays eligible amounts only', new.payment_method_id
      using errcode = 'check_violation', constraint = 'ineligible_only_on_other_cards';
  end if;
  return new;
end $$;
