-- A card of a deleted customer is not charged, whatever asks for it: a confirm, the page or a renewal. The code refuses before this trigger does.
create function checkout.guard_card_of_deleted_customer() returns trigger language plpgsql as $$
begin
  if exists (
    select from checkout.payment_methods m
    join checkout.customers c on c.account_id = m.account_id and c.test_mode = m.test_mode and c.id = m.customer_id
    where m.account_id = new.account_id and m.test_mode = new.test_mode and m.id = new.payment_method_id
      and c.deleted_at is not null
  ) then
    raise exception 'card % belongs to a deleted customer', new.payment_method_id
      using errcode = 'check_violation', constraint = 'no_card_of_a_deleted_customer';
  end if;
  return new;
end $$;
create trigger guard_card_of_deleted_customer before insert on checkout.charge_attempts
  for each row execute function checkout.guard_card_of_deleted_customer();
