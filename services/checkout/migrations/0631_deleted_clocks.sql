-- The sessions and letters of a deleted clock continue by the wall clock: a job takes them off the clock, and notes here when none is left on it.
alter table checkout.test_clocks add column left_at timestamptz(3);

-- Of each clock at most twenty at a time, so that none takes the whole page. A deleted clock tells no time.
create or replace function checkout.due_sessions_on_clocks(most integer)
  returns table (account_id text, test_mode boolean, id text)
  language sql stable security definer set search_path = checkout, pg_temp as $$
  select d.account_id, d.test_mode, d.id
    from checkout.test_clocks c
    cross join lateral (
      select s.account_id, s.test_mode, s.id from checkout.sessions s
       where s.account_id = c.account_id and s.test_mode = c.test_mode and s.test_clock_id = c.id
         and s.status = 'open' and s.expires_at <= c.frozen_time and not checkout.is_charging(s.account_id, s.test_mode, s.id)
       order by s.expires_at limit 20
    ) d
   where c.unsettled and c.deleted_at is null
   limit most
$$;
create or replace function checkout.due_letters_on_clocks(most integer)
  returns table (account_id text, test_mode boolean, id text)
  language sql stable security definer set search_path = checkout, pg_temp as $$
  select d.account_id, d.test_mode, d.id
    from checkout.test_clocks c
    cross join lateral (
      select l.account_id, l.test_mode, l.id from checkout.letters l
       where l.account_id = c.account_id and l.test_mode = c.test_mode and l.test_clock_id = c.id
         and l.status = 'in_review' and l.review_until <= c.frozen_time
       order by l.review_until limit 20
    ) d
   where c.unsettled and c.deleted_at is null
   limit most
$$;
create or replace function checkout.letters_to_announce_on_clocks(most integer)
  returns table (account_id text, test_mode boolean, id text)
  language sql stable security definer set search_path = checkout, pg_temp as $$
  select d.account_id, d.test_mode, d.id
    from checkout.test_clocks c
    cross join lateral (
      select l.account_id, l.test_mode, l.id from checkout.letters l
       where l.account_id = c.account_id and l.test_mode = c.test_mode and l.test_clock_id = c.id
         and l.status = 'approved' and l.end_announced_at is null and l.customer_id is not null
         and l.valid_until <= c.frozen_time + interval '30 days'
       order by l.valid_until limit 20
    ) d
   where c.unsettled and c.deleted_at is null
   limit most
$$;
create or replace function checkout.settled_clocks(most integer)
  returns table (account_id text, test_mode boolean, id text, frozen_time timestamptz)
  language sql stable security definer set search_path = checkout, pg_temp as $$
  select c.account_id, c.test_mode, c.id, c.frozen_time from checkout.test_clocks c
   where c.unsettled and c.deleted_at is null and (
     select true from checkout.sessions s
      where s.account_id = c.account_id and s.test_mode = c.test_mode and s.test_clock_id = c.id
        and s.status = 'open' and s.expires_at <= c.frozen_time limit 1) is null
   and (
     select true from checkout.letters l
      where l.account_id = c.account_id and l.test_mode = c.test_mode and l.test_clock_id = c.id
        and l.status = 'in_review' and l.review_until <= c.frozen_time limit 1) is null
   and (
     select true from checkout.letters l
      where l.account_id = c.account_id and l.test_mode = c.test_mode and l.test_clock_id = c.id
        and l.status = 'approved' and l.end_announced_at is null and l.customer_id is not null
        and l.valid_until <= c.frozen_time + interval '30 days' limit 1) is null
   limit most
$$;

-- Deleted clocks of any account that sessions or letters may still be on.
create function checkout.deleted_clocks(most integer)
  returns table (account_id text, test_mode boolean, id text)
  language sql stable security definer set search_path = checkout, pg_temp as $$
  select c.account_id, c.test_mode, c.id from checkout.test_clocks c
   where c.deleted_at is not null and c.left_at is null limit most
$$;
alter function checkout.deleted_clocks(integer) owner to eligo_finder;
revoke all on function checkout.deleted_clocks(integer) from public;
grant execute on function checkout.deleted_clocks(integer) to :"role";

-- As 0350; a letter leaves its clock once that is deleted.
create or replace function checkout.guard_letter() returns trigger language plpgsql as $$
begin
  -- The moves of domain/letter.ts; a test tries every pair in both.
  if new.status <> old.status and (old.status, new.status) not in (
    ('in_review', 'approved'), ('in_review', 'denied'), ('in_review', 'expired')
  ) then
    raise exception 'a letter does not move from % to %', old.status, new.status
      using errcode = 'check_violation', constraint = 'letter_state_table';
  end if;
  if (new.session_id, new.product_id, new.customer_id, new.created_at)
     is distinct from
     (old.session_id, old.product_id, old.customer_id, old.created_at)
     or new.review_until > old.review_until or (old.status <> 'in_review' and new.review_until <> old.review_until)
     or (old.status <> 'in_review'
       and (new.valid_until, new.decided_at, new.reviewer_id, new.reviewer_name, new.reviewer_license, new.reviewer_state)
       is distinct from
       (old.valid_until, old.decided_at, old.reviewer_id, old.reviewer_name, old.reviewer_license, old.reviewer_state))
     or (new.test_clock_id is distinct from old.test_clock_id and (new.test_clock_id is not null or not exists (
       select from checkout.test_clocks c
        where c.account_id = old.account_id and c.test_mode = old.test_mode and c.id = old.test_clock_id and c.deleted_at is not null))) then
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
