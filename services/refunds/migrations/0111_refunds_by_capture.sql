-- The captures that a card's part draws from, as checkout reserved them: `[{"capture_id": "fcap_…", "amount_cents": 300}]`. Every send names the same ones.
-- Empty for a card that was charged at once, and for parts of earlier releases.
alter table refunds.refund_items add column captures jsonb not null default '[]';

create function refunds.guard_refund_item_captures() returns trigger language plpgsql as $$
begin
  if (select sum((c ->> 'amount_cents')::bigint) from jsonb_array_elements(new.captures) c) > new.amount_cents
     or exists (select from jsonb_array_elements(new.captures) c where not coalesce((c ->> 'amount_cents')::bigint > 0, false)) then
    raise exception 'part % of refund % draws more from captures than it is', new.payment_intent_id, new.refund_id
      using errcode = 'check_violation', constraint = 'refund_item_covers_its_captures';
  end if;
  return new;
end $$;
create trigger guard_refund_item_captures before insert on refunds.refund_items
  for each row when (new.captures <> '[]') execute function refunds.guard_refund_item_captures();
