-- The accounts and modes after one that have entries, or movements, to post, and whether one of them is due. Accounts take turns, so that a backlog of one
-- does not keep the others waiting.
create function refunds.ledger_entry_turns(after_account text, after_mode boolean, most integer)
  returns table (account_id text, test_mode boolean, is_due boolean)
  language sql volatile security definer set search_path = refunds, pg_temp as $$
  with recursive turns as (
    (select e.account_id, e.test_mode, 1 as turn from refunds.ledger_entries e
      where e.post_at is not null and (e.account_id, e.test_mode) > (after_account collate "C", after_mode)
      order by e.account_id, e.test_mode limit 1)
    union all
    select n.account_id, n.test_mode, t.turn + 1 from turns t cross join lateral (
      select e.account_id, e.test_mode from refunds.ledger_entries e
       where e.post_at is not null and (e.account_id, e.test_mode) > (t.account_id, t.test_mode)
       order by e.account_id, e.test_mode limit 1) n
     where t.turn < most
  )
  select t.account_id, t.test_mode, exists (select from refunds.ledger_entries e
    where e.account_id = t.account_id and e.test_mode = t.test_mode and e.post_at <= now()) from turns t
$$;
create function refunds.processor_transaction_turns(after_account text, after_mode boolean, most integer)
  returns table (account_id text, test_mode boolean, is_due boolean)
  language sql volatile security definer set search_path = refunds, pg_temp as $$
  with recursive turns as (
    (select e.account_id, e.test_mode, 1 as turn from refunds.processor_transactions e
      where e.match_at is not null and (e.account_id, e.test_mode) > (after_account collate "C", after_mode)
      order by e.account_id, e.test_mode limit 1)
    union all
    select n.account_id, n.test_mode, t.turn + 1 from turns t cross join lateral (
      select e.account_id, e.test_mode from refunds.processor_transactions e
       where e.match_at is not null and (e.account_id, e.test_mode) > (t.account_id, t.test_mode)
       order by e.account_id, e.test_mode limit 1) n
     where t.turn < most
  )
  select t.account_id, t.test_mode, exists (select from refunds.processor_transactions e
    where e.account_id = t.account_id and e.test_mode = t.test_mode and e.match_at <= now()) from turns t
$$;
alter function refunds.ledger_entry_turns(text, boolean, integer) owner to eligo_finder;
alter function refunds.processor_transaction_turns(text, boolean, integer) owner to eligo_finder;
revoke all on function refunds.ledger_entry_turns(text, boolean, integer), refunds.processor_transaction_turns(text, boolean, integer) from public;
grant execute on function refunds.ledger_entry_turns(text, boolean, integer), refunds.processor_transaction_turns(text, boolean, integer) to :"role";
