-- What is charged or held for a session never exceeds it, however a confirm and the page meet: their legs differ, so that no unique index keeps
-- them apart. Whoever begins an attempt holds the session's row, so that two cannot both find room.
create function checkout.guard_charges_within_session() returns trigger language plpgsql as $$
declare
  total bigint;
  eligible bigint;
  charged bigint;
begin
  select s.amount_total_cents, s.amount_eligible_cents into total, eligible from checkout.sessions s
   where s.account_id = new.account_id and s.test_mode = new.test_mode and s.id = new.subject_id;
  if total is null then
    return new;
  end if;
  select coalesce(sum(a.amount_cents), 0) into charged from checkout.charge_attempts a
   where a.account_id = new.account_id and a.test_mode = new.test_mode and a.purpose = 'session' and a.subject_id = new.subject_id
     and a.status in ('created', 'sending', 'unknown', 'succeeded');
  if charged + new.amount_cents > total or (new.leg = 'health' and new.amount_cents > eligible) then
    raise exception 'more would be charged than session % comes to', new.subject_id
      using errcode = 'check_violation', constraint = 'charges_within_session';
  end if;
  return new;
end $$;
create trigger guard_charges_within_session before insert on checkout.charge_attempts
  for each row when (new.purpose = 'session') execute function checkout.guard_charges_within_session();
