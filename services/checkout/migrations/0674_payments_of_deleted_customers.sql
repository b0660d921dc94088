-- As 0330, and no card is charged for a session whose customer is deleted, whosever it is: that of a card that was typed on a page is nobody's.
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
       where c.account_id = m.account_id and c.test_mode = m.test_mode and c.id = m.customer_id and c.deleted_at is not null) as is_of_deleted,
      new.purpose = 'session' and exists (
      select from checkout.customers c
       where c.account_id = new.account_id and c.test_mode = new.test_mode and c.id = new.customer_id and c.deleted_at is not null)
        as is_for_deleted
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
  if card.is_for_deleted then
    raise exception 'charge attempt % is for a deleted customer', new.id
      using errcode = 'check_violation', constraint = 'no_charge_for_a_deleted_customer';
  end if;
  return new;
end $$;

-- No name of a card is stored for a deleted customer. An erasure holds the rows of the sessions that it erases: what is typed meanwhile waits for it, and then finds
-- the customer deleted.
create function checkout.guard_typed_card() returns trigger language plpgsql as $$
declare
  owner text;
begin
  select s.customer_id into owner from checkout.sessions s
   where s.account_id = new.account_id and s.test_mode = new.test_mode and s.id = new.session_id for key share;
  if owner is not null then
    if exists (
      select from checkout.customers c
       where c.account_id = new.account_id and c.test_mode = new.test_mode and c.id = owner collate "C" and c.deleted_at is not null
    ) then
      raise exception 'session % is of a deleted customer', new.session_id
        using errcode = 'check_violation', constraint = 'no_card_for_a_deleted_customer';
    end if;
  end if;
  return new;
end $$;
create trigger guard_typed_card before insert on checkout.page_cards
  for each row when (new.session_id is not null) execute function checkout.guard_typed_card();
