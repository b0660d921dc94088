-- A session and each of its events list all its refunds, so each refund costs as much as there were before. None is added beyond a thousand;
-- `domain/refund-count.ts` has the same number. A session that has more already stays as it is, and Eligo can still refund what remains of it.
create function checkout.refuse_more_refunds() returns trigger language plpgsql as $$
begin
  raise exception 'session % would have % refunds', new.id, cardinality(new.refund_ids)
    using errcode = 'check_violation', constraint = 'refunds_are_bounded';
end $$;
create trigger refuse_more_refunds before update of refund_ids on checkout.sessions for each row
  when (cardinality(new.refund_ids) > 1000 and cardinality(old.refund_ids) <= 1000) execute function checkout.refuse_more_refunds();
