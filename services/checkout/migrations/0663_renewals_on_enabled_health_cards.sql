-- As 0302 has it for invoices: no health card is authorized again for an account that has withdrawn its statement. A process of the release before this one that tries
-- it fails, and the next look at the hold, by a process of this release, ends its review.
create function checkout.guard_health_card_renewal() returns trigger language plpgsql as $$
begin
  if exists (
    select from checkout.health_card_statements s
    where s.account_id = new.account_id and s.test_mode = new.test_mode and s.substantiation is null
  ) then
    raise exception 'account % authorizes no health cards', new.account_id
      using errcode = 'check_violation', constraint = 'renewals_hold_enabled_health_cards';
  end if;
  return new;
end $$;
create trigger guard_health_card_renewal before insert on checkout.charge_attempts
  for each row when (new.purpose = 'renewal' and new.leg = 'health' and not new.test_mode and new.card_kind is distinct from 'other')
  execute function checkout.guard_health_card_renewal();
