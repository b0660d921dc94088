-- The accounts and modes after one that have captures to tell, and whether one of them is due. Accounts take turns, so that a backlog of one does not keep the
-- others waiting.
create function checkout.journal_turns(after_account text, after_mode boolean, most integer)
  returns table (account_id text, test_mode boolean, is_due boolean)
  language sql volatile security definer set search_path = checkout, pg_temp as $$
  with recursive turns as (
    (select e.account_id, e.test_mode, 1 as turn from checkout.ledger_entries e
      where e.tell_at is not null and e.kind = 'capture' and (e.account_id, e.test_mode) > (after_account collate "C", after_mode)
      order by e.account_id, e.test_mode limit 1)
    union all
    select n.account_id, n.test_mode, t.turn + 1 from turns t cross join lateral (
      select e.account_id, e.test_mode from checkout.ledger_entries e
       where e.tell_at is not null and e.kind = 'capture' and (e.account_id, e.test_mode) > (t.account_id, t.test_mode)
       order by e.account_id, e.test_mode limit 1) n
     where t.turn < most
  )
  select t.account_id, t.test_mode, exists (select from checkout.ledger_entries e
    where e.account_id = t.account_id and e.test_mode = t.test_mode and e.tell_at <= now() and e.kind = 'capture') from turns t
$$;
alter function checkout.journal_turns(text, boolean, integer) owner to eligo_finder;
revoke all on function checkout.journal_turns(text, boolean, integer) from public;
grant execute on function checkout.journal_turns(text, boolean, integer) to :"role";
