-- Letters of medical necessity: one for each product of a session that needs one, and what is captured only once all are approved.

create table checkout.letters (
  account_id text collate "C" not null,
  test_mode boolean not null,
  id text collate "C" not null,
  -- The session whose cards are held until the letter is decided.
  session_id text collate "C" not null,
  product_id text collate "C" not null,
  -- Null for a session without a customer: the letter then serves that session alone.
  customer_id text collate "C",
  test_clock_id text collate "C",
  status text collate "C" not null check (status in ('in_review', 'approved', 'denied', 'expired')),
  url text,
  -- A review that nobody has decided by then ends, before the holds lapse at the bank.
  review_until timestamptz(3) not null,
  -- Until when an approved letter serves the customer's next sessions.
  valid_until timestamptz(3),
  created_at timestamptz(3) not null,
  decided_at timestamptz(3),
  primary key (account_id, test_mode, id),
  foreign key (account_id, test_mode, session_id) references checkout.sessions (account_id, test_mode, id),
  constraint letters_valid_once_approved check ((status = 'approved') = (valid_until is not null)),
  constraint letters_decided_once_ended check ((status = 'in_review') = (decided_at is null))
);
create unique index letters_one_per_product on checkout.letters (account_id, test_mode, session_id, product_id);
create index letters_by_customer on checkout.letters (account_id, test_mode, customer_id, id) where customer_id is not null;
create index letters_by_status on checkout.letters (account_id, test_mode, status, id);
create index letters_due on checkout.letters (review_until) where status = 'in_review' and test_clock_id is null;
create index letters_due_by_clock on checkout.letters (account_id, test_mode, test_clock_id, review_until)
  where status = 'in_review' and test_clock_id is not null;

alter table checkout.letters enable row level security;
alter table checkout.letters force row level security;
create policy own_rows on checkout.letters using (account_id = nullif(current_setting('eligo.account_id', true), '')
  and test_mode = (nullif(current_setting('eligo.test_mode', true), ''))::boolean);
create policy finder on checkout.letters for select to eligo_finder using (true);
-- A letter is evidence: it is never deleted.
revoke all on checkout.letters from eligo_checkout;
grant select, insert, update on checkout.letters to eligo_checkout;
grant select on checkout.letters to eligo_finder;

create function checkout.guard_letter() returns trigger language plpgsql as $$
begin
  -- The moves of domain/letter.ts; a test tries every pair in both.
  if new.status <> old.status and (old.status, new.status) not in (
    ('in_review', 'approved'), ('in_review', 'denied'), ('in_review', 'expired')
  ) then
    raise exception 'a letter does not move from % to %', old.status, new.status
      using errcode = 'check_violation', constraint = 'letter_state_table';
  end if;
  if (new.session_id, new.product_id, new.customer_id, new.test_clock_id, new.review_until, new.created_at)
     is distinct from
     (old.session_id, old.product_id, old.customer_id, old.test_clock_id, old.review_until, old.created_at)
     or (old.status <> 'in_review' and (new.valid_until, new.decided_at) is distinct from (old.valid_until, old.decided_at)) then
    raise exception 'what a letter is for and how it was decided does not change'
      using errcode = 'check_violation', constraint = 'letter_is_final';
  end if;
  return new;
end $$;
create trigger guard_letter before update on checkout.letters
  for each row execute function checkout.guard_letter();

-- No money is captured for a letter that is not approved, whatever requests the capture: of any card while a letter of the session is in review,
-- denied or expired, and of the health card before the session has the letters that it needs.
create function checkout.guard_capture_has_letters() returns trigger language plpgsql as $$
declare
  needing record;
begin
  select a.leg, s.id, s.letter_required into needing
    from checkout.charge_attempts a
    join checkout.sessions s on s.account_id = a.account_id and s.test_mode = a.test_mode and s.id = a.subject_id
   where a.account_id = new.account_id and a.test_mode = new.test_mode and a.id = new.attempt_id and a.purpose = 'session';
  if not found or not needing.letter_required then
    return new;
  end if;
  if exists (
    select from checkout.letters l
     where l.account_id = new.account_id and l.test_mode = new.test_mode and l.session_id = needing.id and l.status <> 'approved'
  ) or (needing.leg = 'health' and not exists (
    select from checkout.letters l
     where l.account_id = new.account_id and l.test_mode = new.test_mode and l.session_id = needing.id
  )) then
    raise exception 'session % has a letter that is not approved', needing.id
      using errcode = 'check_violation', constraint = 'capture_has_its_letters';
  end if;
  return new;
end $$;
create trigger guard_capture_has_letters before insert on checkout.intent_operations
  for each row when (new.kind = 'capture') execute function checkout.guard_capture_has_letters();

-- Reviews whose time has come, by the wall clock and by a test clock: a page, those that are due longest first.
create function checkout.due_letters(at timestamptz, most integer)
  returns table (account_id text, test_mode boolean, id text)
  language sql stable security definer set search_path = checkout, pg_temp as $$
  select l.account_id, l.test_mode, l.id from checkout.letters l
   where l.status = 'in_review' and l.test_clock_id is null and l.review_until <= at
   order by l.review_until limit most
$$;
create function checkout.due_letters_on_clocks(most integer)
  returns table (account_id text, test_mode boolean, id text)
  language sql stable security definer set search_path = checkout, pg_temp as $$
  select l.account_id, l.test_mode, l.id
    from checkout.test_clocks c
    join checkout.letters l on l.account_id = c.account_id and l.test_mode = c.test_mode and l.test_clock_id = c.id
   where c.unsettled and l.status = 'in_review' and l.review_until <= c.frozen_time
   limit most
$$;
create function checkout.next_due_letter(after timestamptz) returns timestamptz
  language sql stable security definer set search_path = checkout, pg_temp as $$
  select l.review_until from checkout.letters l
   where l.status = 'in_review' and l.test_clock_id is null and l.review_until > after
   order by l.review_until limit 1
$$;

-- As 0050; a clock is settled only once the reviews that it has made due are over, too.
create or replace function checkout.settled_clocks(most integer)
  returns table (account_id text, test_mode boolean, id text, frozen_time timestamptz)
  language sql stable security definer set search_path = checkout, pg_temp as $$
  select c.account_id, c.test_mode, c.id, c.frozen_time from checkout.test_clocks c
   where c.unsettled and (
     select true from checkout.sessions s
      where s.account_id = c.account_id and s.test_mode = c.test_mode and s.test_clock_id = c.id
        and s.status = 'open' and s.expires_at <= c.frozen_time limit 1) is null
   and (
     select true from checkout.letters l
      where l.account_id = c.account_id and l.test_mode = c.test_mode and l.test_clock_id = c.id
        and l.status = 'in_review' and l.review_until <= c.frozen_time limit 1) is null
   limit most
$$;

alter function checkout.due_letters(timestamptz, integer) owner to eligo_finder;
alter function checkout.due_letters_on_clocks(integer) owner to eligo_finder;
alter function checkout.next_due_letter(timestamptz) owner to eligo_finder;
revoke all on function checkout.due_letters(timestamptz, integer), checkout.due_letters_on_clocks(integer),
  checkout.next_due_letter(timestamptz) from public;
grant execute on function checkout.due_letters(timestamptz, integer), checkout.due_letters_on_clocks(integer),
  checkout.next_due_letter(timestamptz) to :"role";
