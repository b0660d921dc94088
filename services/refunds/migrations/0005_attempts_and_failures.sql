-- The processor is asked for what was reserved of a card, of that card, and for nothing else.
alter table refunds.refund_attempts add constraint asks_for_its_item
  foreign key (account_id, test_mode, refund_id, payment_intent_id, processor_intent_id, amount_cents)
  references refunds.refund_items (account_id, test_mode, refund_id, payment_intent_id, processor_intent_id, amount_cents) not valid;

-- What a refund says has failed is what its cards' parts say: it is the difference between what was asked for and what goes back.
create function refunds.check_failed_sum() returns trigger language plpgsql as $$
declare
  whole bigint;
  parts bigint;
begin
  select r.failed_cents into whole from refunds.refunds r
   where r.account_id = new.account_id and r.test_mode = new.test_mode and r.id = new.refund_id;
  select coalesce(sum(i.amount_cents), 0) into parts from refunds.refund_items i
   where i.account_id = new.account_id and i.test_mode = new.test_mode and i.refund_id = new.refund_id
     and i.status in ('failed', 'canceled');
  if whole is distinct from parts then
    raise exception 'the failed parts of a refund sum to % and not to %', parts, whole
      using errcode = 'check_violation', constraint = 'failed_is_the_sum_of_failed_parts';
  end if;
  return null;
end $$;
create constraint trigger check_failed_sum after update of status on refunds.refund_items
  deferrable initially deferred for each row when (new.status in ('failed', 'canceled')) execute function refunds.check_failed_sum();
