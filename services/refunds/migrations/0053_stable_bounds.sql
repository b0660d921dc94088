-- The bound of a finder is stable, so that its index ends the scan: behind the last row that is due, a volatile bound reads all that is due later.
create or replace function refunds.due_ledger_entries(most integer) returns table (account_id text, test_mode boolean)
  language sql volatile security definer set search_path = refunds, pg_temp as $$
  select distinct d.account_id, d.test_mode from (select e.account_id, e.test_mode from refunds.ledger_entries e
    where e.post_at <= now() order by e.post_at limit most) d
$$;
create or replace function refunds.due_processor_transactions(most integer) returns table (account_id text, test_mode boolean)
  language sql volatile security definer set search_path = refunds, pg_temp as $$
  select distinct d.account_id, d.test_mode from (select t.account_id, t.test_mode from refunds.processor_transactions t
    where t.match_at <= now() order by t.match_at limit most) d
$$;
create or replace function refunds.due_ledger_feeds(most integer)
  returns table (account_id text, test_mode boolean, processor refunds.processor, processor_account text)
  language sql volatile security definer set search_path = refunds, pg_temp as $$
  select f.account_id, f.test_mode, f.processor, f.processor_account from refunds.ledger_feeds f
   where f.next_read_at <= now() order by f.next_read_at limit most
$$;
create or replace function refunds.due_payouts(most integer) returns table (account_id text, test_mode boolean, id text)
  language sql volatile security definer set search_path = refunds, pg_temp as $$
  select p.account_id, p.test_mode, p.id from refunds.payouts p where p.next_look_at <= now() order by p.next_look_at limit most
$$;
create or replace function refunds.due_disputes(most integer) returns table (account_id text, test_mode boolean, id text)
  language sql volatile security definer set search_path = refunds, pg_temp as $$
  select d.account_id, d.test_mode, d.id from refunds.disputes d
   where d.next_check_at <= now() order by d.next_check_at limit most
$$;
