-- The processor moves each card's part of a refund by itself, at its own time and by its own payout: each part has a balance transaction. Null for parts of
-- earlier releases, which share that of their refund.
alter table refunds.refund_items add column balance_transaction_id text collate "C";

create or replace function refunds.check_refund_sum() returns trigger language plpgsql as $$
declare
  whole bigint;
  parts bigint;
begin
  select r.amount_cents, (
      select sum(i.amount_cents) from refunds.refund_items i
       where i.account_id = new.account_id and i.test_mode = new.test_mode and i.refund_id = new.refund_id)
    into whole, parts from refunds.refunds r
   where r.account_id = new.account_id and r.test_mode = new.test_mode and r.id = new.refund_id;
  if whole is distinct from parts then
    raise exception 'the parts of a refund sum to % and not to %', parts, whole
      using errcode = 'check_violation', constraint = 'refund_is_the_sum_of_its_parts';
  end if;
  if new.balance_transaction_id is not null and (
    not exists (select from refunds.balance_transactions b
      where b.account_id = new.account_id and b.test_mode = new.test_mode and b.id = new.balance_transaction_id
        and b.type = 'refund' and b.source_id = new.refund_id and b.amount_cents = - new.amount_cents)
    or exists (select from refunds.refund_items i
      where i.account_id = new.account_id and i.test_mode = new.test_mode and i.refund_id = new.refund_id
        and i.payment_intent_id <> new.payment_intent_id
        and (i.balance_transaction_id is null or i.balance_transaction_id = new.balance_transaction_id))
  ) then
    raise exception 'a part of refund % has no balance transaction of its own over %', new.refund_id, new.amount_cents
      using errcode = 'check_violation', constraint = 'refund_part_has_its_balance_transaction';
  end if;
  return null;
end $$;
