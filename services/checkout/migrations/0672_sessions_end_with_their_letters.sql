-- As 0121, and a session ends at the latest with the letters that it relies on: no charge of it is sent after its end. A process of the release before this one lets
-- it outlive them.
create or replace function checkout.guard_existing_letter() returns trigger language plpgsql as $$
declare
  letter_end timestamptz;
begin
  select l.valid_until into letter_end from checkout.letters l
    join checkout.sessions s on s.account_id = l.account_id and s.test_mode = l.test_mode and s.id = new.session_id
   where l.account_id = new.account_id and l.test_mode = new.test_mode and l.id = new.letter_id
     and l.status = 'approved' and l.valid_until > s.created_at and l.product_id = new.product_id and l.customer_id = s.customer_id;
  if letter_end is null then
    raise exception 'letter % does not serve session %', new.letter_id, new.session_id
      using errcode = 'check_violation', constraint = 'existing_letter_is_valid';
  end if;
  update checkout.sessions s set expires_at = letter_end
   where s.account_id = new.account_id and s.test_mode = new.test_mode and s.id = new.session_id and s.expires_at > letter_end;
  return new;
end $$;

-- The same for a session that is open again after another of its letters was denied.
create function checkout.end_session_with_its_letters() returns trigger language plpgsql as $$
declare
  letter_end timestamptz;
begin
  select min(l.valid_until) into letter_end from checkout.session_existing_letters e
    join checkout.letters l on l.account_id = e.account_id and l.test_mode = e.test_mode and l.id = e.letter_id
   where e.account_id = new.account_id and e.test_mode = new.test_mode and e.session_id = new.id;
  new.expires_at := least(new.expires_at, letter_end);
  return new;
end $$;
create trigger end_session_with_its_letters before update of expires_at on checkout.sessions
  for each row when (new.expires_at > old.expires_at) execute function checkout.end_session_with_its_letters();
