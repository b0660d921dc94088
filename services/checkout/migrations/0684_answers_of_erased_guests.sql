-- No answers for a letter are stored for a guest who was erased, as 0675 has it for a deleted customer: an erasure holds the rows of the sessions that it erases, so that
-- answers wait for it, and then find its record.
create or replace function checkout.guard_letter_answers() returns trigger language plpgsql as $$
declare
  owner text;
  session text;
begin
  select s.customer_id, s.id into owner, session from checkout.letters l
    join checkout.sessions s on s.account_id = l.account_id and s.test_mode = l.test_mode and s.id = l.session_id
   where l.account_id = new.account_id and l.test_mode = new.test_mode and l.id = new.letter_id for key share of s;
  if owner is null then
    if exists (
      select from checkout.guest_erasures e
       where e.account_id = new.account_id and e.test_mode = new.test_mode and e.session_id = session collate "C"
    ) then
      raise exception 'letter % is of an erased guest', new.letter_id
        using errcode = 'check_violation', constraint = 'no_answers_for_an_erased_guest';
    end if;
  elsif exists (
    select from checkout.customers c
     where c.account_id = new.account_id and c.test_mode = new.test_mode and c.id = owner collate "C" and c.deleted_at is not null
  ) then
    raise exception 'letter % is of a deleted customer', new.letter_id
      using errcode = 'check_violation', constraint = 'no_answers_for_a_deleted_customer';
  end if;
  return new;
end $$;
