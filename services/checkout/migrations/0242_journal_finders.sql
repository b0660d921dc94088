-- The accounts and modes of the captures that wait longest to be told.
create policy finder on checkout.ledger_entries for select to eligo_finder using (true);
grant select on checkout.ledger_entries to eligo_finder;
create function checkout.due_journal(most integer) returns table (account_id text, test_mode boolean)
  language sql volatile security definer set search_path = checkout, pg_temp as $$
  select distinct d.account_id, d.test_mode from (select e.account_id, e.test_mode from checkout.ledger_entries e
    where e.tell_at <= clock_timestamp() and e.kind = 'capture' order by e.tell_at limit most) d
$$;
create function checkout.next_journal() returns timestamptz
  language sql stable security definer set search_path = checkout, pg_temp as $$
  select e.tell_at from checkout.ledger_entries e where e.tell_at is not null and e.kind = 'capture' order by e.tell_at limit 1
$$;
-- For how long the capture that waits longest has waited. Captures of earlier releases do not count: their job works through them.
create function checkout.journal_lag_seconds() returns double precision
  language sql stable security definer set search_path = checkout, pg_temp as $$
  select greatest(0, extract(epoch from clock_timestamp() - (select e.tell_at from checkout.ledger_entries e
    where e.tell_at > '2020-01-02' and e.kind = 'capture' order by e.tell_at limit 1)))
$$;
alter function checkout.journal_lag_seconds() owner to eligo_finder;
alter function checkout.due_journal(integer) owner to eligo_finder;
alter function checkout.next_journal() owner to eligo_finder;
revoke all on function checkout.due_journal(integer), checkout.next_journal(), checkout.journal_lag_seconds() from public;
grant execute on function checkout.due_journal(integer), checkout.next_journal(), checkout.journal_lag_seconds() to :"role";
