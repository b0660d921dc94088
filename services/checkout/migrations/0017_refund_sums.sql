-- A refund is taken out of cards and of lines alike, and of each as much as it is.
create function checkout.check_refund_sums() returns trigger language plpgsql as $$
declare
  cards bigint;
  lines bigint;
begin
  select coalesce(sum(p.amount_cents), 0) into cards from checkout.refund_reservation_parts p
   where p.account_id = new.account_id and p.test_mode = new.test_mode and p.refund_id = new.refund_id;
  if cards <> new.amount_cents then
    raise exception 'the cards of a refund sum to % and not to %', cards, new.amount_cents
      using errcode = 'check_violation', constraint = 'refund_is_the_sum_of_its_cards';
  end if;
  select coalesce(sum(l.amount_cents), 0) into lines from checkout.refund_reservation_lines l
   where l.account_id = new.account_id and l.test_mode = new.test_mode and l.refund_id = new.refund_id;
  if lines <> new.amount_cents then
    raise exception 'the lines of a refund sum to % and not to %', lines, new.amount_cents
      using errcode = 'check_violation', constraint = 'refund_is_the_sum_of_its_lines';
  end if;
  return null;
end $$;
create constraint trigger check_refund_sums after insert on checkout.refund_reservations
  deferrable initially deferred for each row execute function checkout.check_refund_sums();
