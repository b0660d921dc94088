-- The refund of a letter fee is decided once. What it cannot take stays with the shop, and is then no longer to be given back: what a line gives back falls to what is refunded of its fee.
create or replace function checkout.guard_letter_fee_of_line() returns trigger language plpgsql as $$
declare
  broken text;
begin
  if new.letter_fee_given_back_cents > old.letter_fee_given_back_cents then
    broken := case
      when old.letter_fee_given_back_cents > 0 then 'letter_fee_is_given_back_once'
      when new.letter_fee_given_back_cents > new.amount_captured_cents - new.amount_refunded_cents then 'letter_fee_was_captured'
    end;
  elsif new.letter_fee_given_back_cents <> new.letter_fee_refunded_cents then
    broken := 'letter_fee_is_kept_where_its_refund_failed';
  end if;
  if broken is not null then
    raise exception 'of the letter fee of line % is given back %, and was %', new.id, new.letter_fee_given_back_cents,
      old.letter_fee_given_back_cents using errcode = 'check_violation', constraint = broken;
  end if;
  return new;
end $$;

-- At commit: a line of a letter fee's refund gives back what this refund has of it, less what the processor did not refund. A process of an earlier release, which releases such a refund without its
-- letter fee, is refused: the refund is released by a process of this one.
create function checkout.check_letter_fee_of_refund() returns trigger language plpgsql as $$
declare
  line record;
begin
  select l.id, l.letter_fee_given_back_cents as given_back, l.letter_fee_refunded_cents as refunded, r.reserved into line
    from (select f.line_id, coalesce(sum(f.letter_fee_cents) filter (where not p.released), 0) as reserved
            from checkout.refund_reservation_lines f
            join checkout.refund_reservation_parts p on p.account_id = f.account_id and p.test_mode = f.test_mode
              and p.refund_id = f.refund_id and p.payment_intent_id = f.payment_intent_id
           where f.account_id = new.account_id and f.test_mode = new.test_mode and f.refund_id = new.refund_id and f.letter_fee_cents > 0
           group by f.line_id) r
    join checkout.session_lines l on l.account_id = new.account_id and l.test_mode = new.test_mode and l.id = r.line_id
   where l.letter_fee_refunded_cents <> r.reserved or l.letter_fee_given_back_cents <> r.reserved
   limit 1;
  if found then
    raise exception 'line % gives back % of its letter fee, % are refunded, and refund % has %', line.id, line.given_back, line.refunded,
      new.refund_id, line.reserved using errcode = 'check_violation', constraint = 'refund_of_letter_fee_is_noted_at_its_lines';
  end if;
  return null;
end $$;
create constraint trigger check_letter_fee_of_refund after insert on checkout.refund_reservation_lines
  deferrable initially deferred for each row
  when (new.letter_fee_cents > 0) execute function checkout.check_letter_fee_of_refund();
create constraint trigger check_released_letter_fee after update of released on checkout.refund_reservation_parts
  deferrable initially deferred for each row
  when (new.released and not old.released) execute function checkout.check_letter_fee_of_refund();
