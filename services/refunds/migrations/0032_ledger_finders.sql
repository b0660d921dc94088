-- The accounts and modes of what is due longest, for jobs that then work in the context of each.
create function refunds.due_ledger_entries(most integer) returns table (account_id text, test_mode boolean)
  language sql volatile security definer set search_path = refunds, pg_temp as $$
  select distinct d.account_id, d.test_mode from (select e.account_id, e.test_mode from refunds.ledger_entries e
    where e.post_at <= clock_timestamp() order by e.post_at limit most) d
$$;
create function refunds.due_processor_transactions(most integer) returns table (account_id text, test_mode boolean)
  language sql volatile security definer set search_path = refunds, pg_temp as $$
  select distinct d.account_id, d.test_mode from (select t.account_id, t.test_mode from refunds.processor_transactions t
    where t.match_at <= clock_timestamp() order by t.match_at limit most) d
$$;
create function refunds.due_ledger_feeds(most integer)
  returns table (account_id text, test_mode boolean, processor refunds.processor, processor_account text)
  language sql volatile security definer set search_path = refunds, pg_temp as $$
  select f.account_id, f.test_mode, f.processor, f.processor_account from refunds.ledger_feeds f
   where f.next_read_at <= clock_timestamp() order by f.next_read_at limit most
$$;
create function refunds.next_ledger_entry() returns timestamptz
  language sql stable security definer set search_path = refunds, pg_temp as $$
  select e.post_at from refunds.ledger_entries e where e.post_at is not null order by e.post_at limit 1
$$;
create function refunds.next_processor_transaction() returns timestamptz
  language sql stable security definer set search_path = refunds, pg_temp as $$
  select t.match_at from refunds.processor_transactions t where t.match_at is not null order by t.match_at limit 1
$$;
create function refunds.next_ledger_feed() returns timestamptz
  language sql stable security definer set search_path = refunds, pg_temp as $$
  select f.next_read_at from refunds.ledger_feeds f order by f.next_read_at limit 1
$$;
-- For how long what is due longest has waited. Entries of earlier releases do not count: their job works through them.
create function refunds.ledger_lag_seconds() returns double precision
  language sql stable security definer set search_path = refunds, pg_temp as $$
  select greatest(0, extract(epoch from clock_timestamp() - least(
    (select e.post_at from refunds.ledger_entries e where e.post_at > '2020-01-02' order by e.post_at limit 1),
    (select t.match_at from refunds.processor_transactions t where t.match_at is not null order by t.match_at limit 1),
    (select f.next_read_at from refunds.ledger_feeds f order by f.next_read_at limit 1))))
$$;
alter function refunds.ledger_lag_seconds() owner to eligo_finder;
alter function refunds.due_ledger_entries(integer) owner to eligo_finder;
alter function refunds.due_processor_transactions(integer) owner to eligo_finder;
alter function refunds.due_ledger_feeds(integer) owner to eligo_finder;
alter function refunds.next_ledger_entry() owner to eligo_finder;
alter function refunds.next_processor_transaction() owner to eligo_finder;
alter function refunds.next_ledger_feed() owner to eligo_finder;
revoke all on function refunds.due_ledger_entries(integer), refunds.due_processor_transactions(integer), refunds.due_ledger_feeds(integer),
  refunds.next_ledger_entry(), refunds.next_processor_transaction(), refunds.next_ledger_feed(), refunds.ledger_lag_seconds() from public;
grant execute on function refunds.due_ledger_entries(integer), refunds.due_processor_transactions(integer), refunds.due_ledger_feeds(integer),
  refunds.next_ledger_entry(), refunds.next_processor_transaction(), refunds.next_ledger_feed(), refunds.ledger_lag_seconds() to :"role";
