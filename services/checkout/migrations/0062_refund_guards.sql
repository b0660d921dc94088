-- What a refund takes out of its session is written by one statement on seven tables. As ADR 17 for the refunds schema: a guard for each table in
-- place of its check constraints, and both sums of a reservation by one query at commit.

create function checkout.guard_refund_reservation() returns trigger language plpgsql as $$
declare
  broken text := case
    when not (new.amount_cents > 0) then 'refund_reservations_amount_cents_check'
    when not (new.tax_cents >= 0) then 'refund_reservations_tax_cents_check'
    when not (new.shipping_cents >= 0) then 'refund_reservations_shipping_cents_check'
    when not (new.discount_cents >= 0) then 'refund_reservations_discount_cents_check'
    when not (new.session_id is not null or new.payment_intent_id is not null) then 'refund_reservations_check'
  end;
begin
  if broken is not null then
    raise exception 'the reservation of % violates %', new.refund_id, broken using errcode = 'check_violation', constraint = broken;
  end if;
  return new;
end $$;
create trigger guard_refund_reservation before insert or update on checkout.refund_reservations
  for each row execute function checkout.guard_refund_reservation();
alter table checkout.refund_reservations
  drop constraint refund_reservations_amount_cents_check, drop constraint refund_reservations_tax_cents_check,
  drop constraint refund_reservations_shipping_cents_check, drop constraint refund_reservations_discount_cents_check,
  drop constraint refund_reservations_check;

create or replace function checkout.check_refund_sums() returns trigger language plpgsql as $$
declare
  cards bigint;
  lines bigint;
begin
  select (select coalesce(sum(p.amount_cents), 0) from checkout.refund_reservation_parts p
           where p.account_id = new.account_id and p.test_mode = new.test_mode and p.refund_id = new.refund_id),
         (select coalesce(sum(l.amount_cents), 0) from checkout.refund_reservation_lines l
           where l.account_id = new.account_id and l.test_mode = new.test_mode and l.refund_id = new.refund_id)
    into cards, lines;
  if cards <> new.amount_cents then
    raise exception 'the cards of a refund sum to % and not to %', cards, new.amount_cents
      using errcode = 'check_violation', constraint = 'refund_is_the_sum_of_its_cards';
  end if;
  if lines <> new.amount_cents then
    raise exception 'the lines of a refund sum to % and not to %', lines, new.amount_cents
      using errcode = 'check_violation', constraint = 'refund_is_the_sum_of_its_lines';
  end if;
  return null;
end $$;

-- As before, its three looks by one query.
create or replace function checkout.check_session_money() returns trigger language plpgsql as $$
declare
  sums record;
begin
  select s.amount_received_cents as received, s.amount_refunded_cents as refunded,
         cards.received as cards_received, cards.refunded as cards_refunded, lines.received as lines_received, lines.refunded as lines_refunded
    into sums
    from checkout.sessions s,
      lateral (select coalesce(sum(i.amount_received_cents), 0) as received, coalesce(sum(i.amount_refunded_cents), 0) as refunded
        from checkout.payment_intents i
       where i.account_id = new.account_id and i.test_mode = new.test_mode and i.session_id = new.id) cards,
      lateral (select coalesce(sum(l.amount_captured_cents), 0) as received, coalesce(sum(l.amount_refunded_cents), 0) as refunded
        from checkout.session_lines l
       where l.account_id = new.account_id and l.test_mode = new.test_mode and l.session_id = new.id) lines
   where s.account_id = new.account_id and s.test_mode = new.test_mode and s.id = new.id;
  if (sums.cards_received, sums.cards_refunded) is distinct from (sums.received, sums.refunded) then
    raise exception 'session % received % and gave back %, and its cards % and %',
      new.id, sums.received, sums.refunded, sums.cards_received, sums.cards_refunded
      using errcode = 'check_violation', constraint = 'session_money_is_its_cards';
  end if;
  if (sums.lines_received, sums.lines_refunded) is distinct from (sums.received, sums.refunded) then
    raise exception 'session % received % and gave back %, and its lines % and %',
      new.id, sums.received, sums.refunded, sums.lines_received, sums.lines_refunded
      using errcode = 'check_violation', constraint = 'session_money_is_its_lines';
  end if;
  return null;
end $$;
