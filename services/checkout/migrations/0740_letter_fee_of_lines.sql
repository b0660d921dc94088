-- A letter fee that is given back is noted at the lines that it is a part of: what of each is given back, and what of that is refunded. The refund of a letter fee
-- takes of nothing else, so whatever else is refunded of a line is known. Zero: no letter fee is given back, or an earlier release gave it back.
alter table checkout.session_lines
  add column letter_fee_given_back_cents bigint not null default 0,
  add column letter_fee_refunded_cents bigint not null default 0,
  add constraint letter_fee_within_line check (letter_fee_given_back_cents <= amount_fee_cents
    and letter_fee_refunded_cents between 0 and letter_fee_given_back_cents
    and letter_fee_refunded_cents <= amount_refunded_cents) not valid;

-- The refund of a letter fee is of nothing else.
alter table checkout.refund_reservation_lines
  add column letter_fee_cents bigint not null default 0,
  add constraint refund_is_letter_fee_or_not check (letter_fee_cents in (0, amount_cents)) not valid;

-- It is decided once, when the session becomes complete, of what was captured and is not refunded. It is less again only by what the processor did not refund.
create function checkout.guard_letter_fee_of_line() returns trigger language plpgsql as $$
declare
  broken text;
begin
  if new.letter_fee_given_back_cents > old.letter_fee_given_back_cents then
    broken := case
      when old.letter_fee_given_back_cents > 0 then 'letter_fee_is_given_back_once'
      when new.letter_fee_given_back_cents > new.amount_captured_cents - new.amount_refunded_cents then 'letter_fee_was_captured'
    end;
  elsif old.letter_fee_given_back_cents - new.letter_fee_given_back_cents
      <> old.letter_fee_refunded_cents - new.letter_fee_refunded_cents then
    broken := 'letter_fee_is_kept_where_its_refund_failed';
  end if;
  if broken is not null then
    raise exception 'of the letter fee of line % is given back %, and was %', new.id, new.letter_fee_given_back_cents,
      old.letter_fee_given_back_cents using errcode = 'check_violation', constraint = broken;
  end if;
  return new;
end $$;
create trigger guard_letter_fee_of_line before update of letter_fee_given_back_cents on checkout.session_lines for each row
  when (new.letter_fee_given_back_cents <> old.letter_fee_given_back_cents) execute function checkout.guard_letter_fee_of_line();

-- At commit: the session says that its fee is refunded, and its lines give back no more than the fee.
create function checkout.check_letter_fee_of_lines() returns trigger language plpgsql as $$
declare
  whole record;
begin
  select s.letter_fee_status as status, coalesce(s.letter_fee_cents, 0) as fee,
      (select sum(l.letter_fee_given_back_cents) from checkout.session_lines l
        where l.account_id = new.account_id and l.test_mode = new.test_mode and l.session_id = new.session_id) as given_back
    into whole
    from checkout.sessions s
   where s.account_id = new.account_id and s.test_mode = new.test_mode and s.id = new.session_id;
  if whole.status is distinct from 'refunded' or whole.given_back > whole.fee then
    raise exception 'the lines of session % give back % of its letter fee of %, which is %', new.session_id, whole.given_back, whole.fee,
      whole.status using errcode = 'check_violation', constraint = 'letter_fee_of_session_is_given_back';
  end if;
  return null;
end $$;
create constraint trigger check_letter_fee_of_lines after update of letter_fee_given_back_cents on checkout.session_lines
  deferrable initially deferred for each row
  when (new.letter_fee_given_back_cents > old.letter_fee_given_back_cents) execute function checkout.check_letter_fee_of_lines();
