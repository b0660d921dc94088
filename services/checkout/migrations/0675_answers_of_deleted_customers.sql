-- No answers for a letter are stored for a deleted customer, as 0674 has it for cards: an erasure holds the rows of the sessions that it erases, so that answers wait for
-- it, and then find the customer deleted.
create function checkout.guard_letter_answers() returns trigger language plpgsql as $$
declare
  owner text;
begin
  select s.customer_id into owner from checkout.letters l
    join checkout.sessions s on s.account_id = l.account_id and s.test_mode = l.test_mode and s.id = l.session_id
   where l.account_id = new.account_id and l.test_mode = new.test_mode and l.id = new.letter_id for key share of s;
  if owner is not null then
    if exists (
      select from checkout.customers c
       where c.account_id = new.account_id and c.test_mode = new.test_mode and c.id = owner collate "C" and c.deleted_at is not null
    ) then
      raise exception 'letter % is of a deleted customer', new.letter_id
        using errcode = 'check_violation', constraint = 'no_answers_for_a_deleted_customer';
    end if;
  end if;
  return new;
end $$;
create trigger guard_letter_answers before insert on checkout.letter_answers
  for each row execute function checkout.guard_letter_answers();
