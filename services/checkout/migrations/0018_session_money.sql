-- Of a session's tax, shipping and discount no more is captured than there is of each.
alter table checkout.sessions
  add constraint sessions_captured_components check (
    captured_tax_cents between 0 and amount_tax_cents
    and captured_shipping_cents between 0 and amount_shipping_cents
    and captured_discount_cents between 0 and amount_discount_cents
  ) not valid;

-- What a session has received is what its cards gave, and what its lines were paid with; and what it has given back likewise. At commit, since
-- the three are written one after the other.
create function checkout.check_session_money() returns trigger language plpgsql as $$
declare
  whole record;
  cards record;
  lines record;
begin
  select s.amount_received_cents as received, s.amount_refunded_cents as refunded into whole from checkout.sessions s
   where s.account_id = new.account_id and s.test_mode = new.test_mode and s.id = new.id;
  select coalesce(sum(i.amount_received_cents), 0) as received, coalesce(sum(i.amount_refunded_cents), 0) as refunded
    into cards from checkout.payment_intents i
   where i.account_id = new.account_id and i.test_mode = new.test_mode and i.session_id = new.id;
  if (cards.received, cards.refunded) is distinct from (whole.received, whole.refunded) then
    raise exception 'session % received % and gave back %, and its cards % and %',
      new.id, whole.received, whole.refunded, cards.received, cards.refunded
      using errcode = 'check_violation', constraint = 'session_money_is_its_cards';
  end if;
  select coalesce(sum(l.amount_captured_cents), 0) as received, coalesce(sum(l.amount_refunded_cents), 0) as refunded
    into lines from checkout.session_lines l
   where l.account_id = new.account_id and l.test_mode = new.test_mode and l.session_id = new.id;
  if (lines.received, lines.refunded) is distinct from (whole.received, whole.refunded) then
    raise exception 'session % received % and gave back %, and its lines % and %',
      new.id, whole.received, whole.refunded, lines.received, lines.refunded
      using errcode = 'check_violation', constraint = 'session_money_is_its_lines';
  end if;
  return null;
end $$;
create constraint trigger check_session_money after update of amount_received_cents, amount_refunded_cents on checkout.sessions
  deferrable initially deferred for each row
  when ((old.amount_received_cents, old.amount_refunded_cents) is distinct from (new.amount_received_cents, new.amount_refunded_cents))
  execute function checkout.check_session_money();
