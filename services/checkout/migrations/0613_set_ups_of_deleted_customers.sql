-- No card is saved for a customer who was deleted while its set-up waited. The code locks the customer and cancels the set-up before this trigger refuses.
create or replace function checkout.guard_subscription_set_up() returns trigger language plpgsql as $$
begin
  -- The moves of domain/subscription-set-up.ts; a test tries every pair in both.
  if new.status <> old.status and (old.status, new.status) not in (
    ('beginning', 'waiting'), ('beginning', 'saved'), ('beginning', 'canceled'), ('waiting', 'saved'), ('waiting', 'canceled')
  ) then
    raise exception 'a set-up does not move from % to %', old.status, new.status
      using errcode = 'check_violation', constraint = 'set_up_state_table';
  end if;
  if (new.setup_intent_id, new.customer_id, new.processor, new.processor_account, new.created_at)
     is distinct from (old.setup_intent_id, old.customer_id, old.processor, old.processor_account, old.created_at)
     or new.payment_method_id is distinct from old.payment_method_id
     or (old.processor_setup_intent_id is not null and new.processor_setup_intent_id is distinct from old.processor_setup_intent_id)
     or (old.status in ('saved', 'canceled') and new.saved_payment_method_id is distinct from old.saved_payment_method_id) then
    raise exception 'the set-up of subscription % stays what it is', old.subscription_id
      using errcode = 'check_violation', constraint = 'one_set_up_of_a_subscription';
  end if;
  if new.status = 'saved' and old.status <> 'saved' then
    if exists (
      select from checkout.customers c
      where c.account_id = new.account_id and c.test_mode = new.test_mode and c.id = new.customer_id and c.deleted_at is not null
    ) then
      raise exception 'the customer of the set-up of subscription % was deleted', new.subscription_id
        using errcode = 'check_violation', constraint = 'no_card_saved_for_a_deleted_customer';
    end if;
  end if;
  return new;
end $$;
