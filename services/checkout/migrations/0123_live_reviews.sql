-- Live letters: who may decide them, what their shoppers answered, and who read it.

-- People who decide letters. They belong to the installation, not to an account.
create table checkout.reviewers (
  id text collate "C" primary key,
  name text not null check (name <> ''),
  license text not null check (license <> ''),
  state text not null check (state ~ '^[A-Z]{2}$'),
  -- SHA-256 of the personal credential, which is shown once.
  credential_hash bytea not null unique check (octet_length(credential_hash) = 32),
  created_at timestamptz(3) not null default now(),
  revoked_at timestamptz(3)
);
revoke all on checkout.reviewers from eligo_checkout;
grant select, insert, update (revoked_at) on checkout.reviewers to eligo_checkout;

-- The reviewer as of the decision. Null for a letter of test mode that the test helper decided.
alter table checkout.letters add column reviewer_id text collate "C";
alter table checkout.letters add column reviewer_name text;
alter table checkout.letters add column reviewer_license text;
alter table checkout.letters add column reviewer_state text;

create or replace function checkout.guard_letter() returns trigger language plpgsql as $$
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
     or (old.status <> 'in_review'
       and (new.valid_until, new.decided_at, new.reviewer_id, new.reviewer_name, new.reviewer_license, new.reviewer_state)
       is distinct from
       (old.valid_until, old.decided_at, old.reviewer_id, old.reviewer_name, old.reviewer_license, old.reviewer_state)) then
    raise exception 'what a letter is for and how it was decided does not change'
      using errcode = 'check_violation', constraint = 'letter_is_final';
  end if;
  -- No API key decides a live letter: a person does, whose credential is not revoked.
  if new.status <> old.status and new.status in ('approved', 'denied') and (not new.test_mode or new.reviewer_id is not null)
     and not exists (
       select from checkout.reviewers r
        where r.id = new.reviewer_id and r.revoked_at is null
          and (r.name, r.license, r.state) = (new.reviewer_name, new.reviewer_license, new.reviewer_state)) then
    raise exception 'letter % is decided by no reviewer', old.id
      using errcode = 'check_violation', constraint = 'live_letter_has_reviewer';
  end if;
  return new;
end $$;

-- What a shopper answered for a letter, sealed under the keyring for this letter alone.
create table checkout.letter_answers (
  account_id text collate "C" not null,
  test_mode boolean not null,
  letter_id text collate "C" not null,
  sealed text not null,
  submitted_at timestamptz(3) not null,
  primary key (account_id, test_mode, letter_id),
  foreign key (account_id, test_mode, letter_id) references checkout.letters (account_id, test_mode, id)
);

-- Each time that answers were opened, and by whom. Append-only.
create table checkout.letter_reads (
  account_id text collate "C" not null,
  test_mode boolean not null,
  letter_id text collate "C" not null,
  number bigint generated always as identity,
  reviewer_id text collate "C" not null references checkout.reviewers (id),
  request_id text not null,
  read_at timestamptz(3) not null default clock_timestamp(),
  primary key (account_id, test_mode, letter_id, number),
  foreign key (account_id, test_mode, letter_id) references checkout.letters (account_id, test_mode, id)
);

do $$
declare name text;
begin
  foreach name in array array['letter_answers', 'letter_reads'] loop
    execute format('alter table checkout.%I enable row level security', name);
    execute format('alter table checkout.%I force row level security', name);
    execute format(
      'create policy own_rows on checkout.%I using (account_id = nullif(current_setting(''eligo.account_id'', true), '''')'
      ' and test_mode = (nullif(current_setting(''eligo.test_mode'', true), ''''))::boolean)', name);
    execute format('revoke all on checkout.%I from eligo_checkout', name);
    execute format('grant select, insert on checkout.%I to eligo_checkout', name);
  end loop;
end $$;

-- The review queue of all accounts of a mode: a page after a place, those whose review ends first.
create function checkout.letters_to_review(of_test_mode boolean, most integer, after_until timestamptz, after_id text)
  returns table (account_id text, test_mode boolean, id text, review_until timestamptz)
  language sql stable security definer set search_path = checkout, pg_temp as $$
  select l.account_id, l.test_mode, l.id, l.review_until from checkout.letters l
   where l.status = 'in_review' and l.test_mode = of_test_mode
     and l.review_until >= after_until and (l.review_until, l.id) > (after_until, after_id)
   order by l.review_until, l.id limit most
$$;
-- Whose a letter is. A reviewer names the letter alone.
create function checkout.account_of_letter(letter_id text) returns table (account_id text, test_mode boolean)
  language sql stable security definer set search_path = checkout, pg_temp as $$
  select l.account_id, l.test_mode from checkout.letters l where l.id = letter_id limit 1
$$;
alter function checkout.letters_to_review(boolean, integer, timestamptz, text) owner to eligo_finder;
alter function checkout.account_of_letter(text) owner to eligo_finder;
revoke all on function checkout.letters_to_review(boolean, integer, timestamptz, text), checkout.account_of_letter(text) from public;
grant execute on function checkout.letters_to_review(boolean, integer, timestamptz, text), checkout.account_of_letter(text) to :"role";
