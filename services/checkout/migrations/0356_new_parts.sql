-- No attempt begins as approved for a part: it is asked for one after it was made, under the rules of `guard_approved_part`.
create function checkout.refuse_new_part() returns trigger language plpgsql as $$
begin
  raise exception 'charge attempt % cannot begin with a part', new.id
    using errcode = 'check_violation', constraint = 'only_a_hold_accepts_a_part';
end $$;
create trigger refuse_new_part before insert on checkout.charge_attempts
  for each row when (new.accepts_part or new.asked_cents is not null) execute function checkout.refuse_new_part();
