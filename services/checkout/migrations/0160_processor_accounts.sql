-- At which processor account a card, a customer or money is: whatever is done to it later is done there, whichever account new money goes to by then.
-- Null: a row of the release before this one, which means the account that new money goes to. The job `fill-processor-accounts` writes it down.
-- A type, because a check constraint on these tables costs every statement that writes to them (ADR 15).
create type checkout.processor as enum ('sandbox', 'stripe');

alter table checkout.payment_methods add column processor checkout.processor, add column processor_account text collate "C";
alter table checkout.customers add column processor checkout.processor, add column processor_account text collate "C";
alter table checkout.setup_intents add column processor checkout.processor, add column processor_account text collate "C";
alter table checkout.payment_intents add column processor checkout.processor, add column processor_account text collate "C";
alter table checkout.charge_attempts add column processor checkout.processor, add column processor_account text collate "C";

-- Written once. Test mode is at the sandbox alone. A customer of the processor belongs to one account there, so that another
-- account makes another; a set-up that goes on with another card goes where that card is.
create function checkout.guard_processor_account() returns trigger language plpgsql as $$
begin
  if (new.processor is null) <> (new.processor_account is null) then
    raise exception 'a processor and its account are stored together'
      using errcode = 'check_violation', constraint = 'processor_account_is_whole';
  end if;
  if new.test_mode and new.processor <> 'sandbox' then
    raise exception 'test mode uses the sandbox alone' using errcode = 'check_violation', constraint = 'test_mode_is_at_the_sandbox';
  end if;
  if tg_op = 'UPDATE' and tg_table_name not in ('customers', 'setup_intents') and old.processor is not null
     and (new.processor, new.processor_account) is distinct from (old.processor, old.processor_account) then
    raise exception 'what is at a processor account stays there'
      using errcode = 'check_violation', constraint = 'processor_account_is_final';
  end if;
  return new;
end $$;

create trigger guard_processor_account before insert or update of processor, processor_account on checkout.payment_methods
  for each row execute function checkout.guard_processor_account();
create trigger guard_processor_account before insert or update of processor, processor_account on checkout.customers
  for each row execute function checkout.guard_processor_account();
create trigger guard_processor_account before insert or update of processor, processor_account on checkout.setup_intents
  for each row execute function checkout.guard_processor_account();
create trigger guard_processor_account before insert or update of processor, processor_account on checkout.payment_intents
  for each row execute function checkout.guard_processor_account();

-- An attempt charges where its card is, and its intent is there, too. What the release before this one begins has no account.
create function checkout.guard_attempt_account() returns trigger language plpgsql as $$
declare
  stray text;
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
  select m.processor_account into stray from checkout.payment_methods m
   where m.account_id = new.account_id and m.test_mode = new.test_mode and m.id = new.payment_method_id
     and (m.processor <> new.processor or m.processor_account <> new.processor_account);
  if found then
    raise exception 'charge attempt % is at another processor account than its card', new.id
      using errcode = 'check_violation', constraint = 'charged_where_the_card_is';
  end if;
  return new;
end $$;
create trigger guard_attempt_account before insert or update of processor, processor_account on checkout.charge_attempts
  for each row execute function checkout.guard_attempt_account();
