-- Letters of all accounts that end within 30 days and are still valid, those that end first.
create function checkout.letters_to_announce(at timestamptz, most integer)
  returns table (account_id text, test_mode boolean, id text)
  language sql stable security definer set search_path = checkout, pg_temp as $$
  select l.account_id, l.test_mode, l.id from checkout.letters l
   where l.status = 'approved' and l.end_announced_at is null and l.customer_id is not null and l.test_clock_id is null
     and l.valid_until > at and l.valid_until <= at + interval '30 days'
   order by l.valid_until limit most
$$;
-- The same on test clocks that have moved, also past the end.
create function checkout.letters_to_announce_on_clocks(most integer)
  returns table (account_id text, test_mode boolean, id text)
  language sql stable security definer set search_path = checkout, pg_temp as $$
  select l.account_id, l.test_mode, l.id
    from checkout.test_clocks c
    join checkout.letters l on l.account_id = c.account_id and l.test_mode = c.test_mode and l.test_clock_id = c.id
   where c.unsettled and l.status = 'approved' and l.end_announced_at is null and l.customer_id is not null
     and l.valid_until <= c.frozen_time + interval '30 days'
   limit most
$$;
create function checkout.next_letter_to_announce(after timestamptz) returns timestamptz
  language sql stable security definer set search_path = checkout, pg_temp as $$
  select l.valid_until - interval '30 days' from checkout.letters l
   where l.status = 'approved' and l.end_announced_at is null and l.customer_id is not null and l.test_clock_id is null
     and l.valid_until > after + interval '30 days'
   order by l.valid_until limit 1
$$;
do $$
declare signature text;
begin
  foreach signature in array array[
    'letters_to_announce(timestamptz, integer)', 'letters_to_announce_on_clocks(integer)', 'next_letter_to_announce(timestamptz)'
  ] loop
    execute format('alter function checkout.%s owner to eligo_finder', signature);
    execute format('revoke all on function checkout.%s from public', signature);
    execute format('grant execute on function checkout.%s to eligo_checkout', signature);
  end loop;
end $$;

-- As 0120; a clock is settled only once the ends of its letters are announced, too.
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
   and (
     select true from checkout.letters l
      where l.account_id = c.account_id and l.test_mode = c.test_mode and l.test_clock_id = c.id
        and l.status = 'approved' and l.end_announced_at is null and l.customer_id is not null
        and l.valid_until <= c.frozen_time + interval '30 days' limit 1) is null
   limit most
$$;
