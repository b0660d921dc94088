-- At which processor account a card's money is, and goes back from, whichever account new money goes to by then. Null: a row of the release before this
-- one, which means the account that new money goes to. The job `fill-processor-accounts` writes it down.
create type refunds.processor as enum ('sandbox', 'stripe');
alter table refunds.refund_items add column processor refunds.processor, add column processor_account text collate "C";
grant update (processor, processor_account) on refunds.refund_items to :"role";

create function refunds.guard_processor_account() returns trigger language plpgsql as $$
begin
  if (new.processor is null) <> (new.processor_account is null) then
    raise exception 'a processor and its account are stored together'
      using errcode = 'check_violation', constraint = 'processor_account_is_whole';
  end if;
  if new.test_mode and new.processor <> 'sandbox' then
    raise exception 'test mode uses the sandbox alone' using errcode = 'check_violation', constraint = 'test_mode_is_at_the_sandbox';
  end if;
  if tg_op = 'UPDATE' and old.processor is not null
     and (new.processor, new.processor_account) is distinct from (old.processor, old.processor_account) then
    raise exception 'what is at a processor account stays there'
      using errcode = 'check_violation', constraint = 'processor_account_is_final';
  end if;
  return new;
end $$;
create trigger guard_processor_account before insert or update of processor, processor_account on refunds.refund_items
  for each row execute function refunds.guard_processor_account();
