-- The bound of a finder is stable, so that its index ends the scan: behind the last row that is due, a volatile bound reads all that is due later.
create or replace function checkout.due_journal(most integer) returns table (account_id text, test_mode boolean)
  language sql volatile security definer set search_path = checkout, pg_temp as $$
  select distinct d.account_id, d.test_mode from (select e.account_id, e.test_mode from checkout.ledger_entries e
    where e.tell_at <= now() and e.kind = 'capture' order by e.tell_at limit most) d
$$;
