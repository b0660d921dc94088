-- Whether an entry of an account is due is read with the account itself: the first of an account by the index is the one that is due first. A look-up of its own could read the due ones of
-- all accounts by time, where Postgres expected few.
create or replace function checkout.journal_turns(after_account text, after_mode boolean, most integer)
  returns table (account_id text, test_mode boolean, is_due boolean)
  language sql volatile security definer set search_path = checkout, pg_temp as $$
  with recursive turns as (
    (select e.account_id, e.test_mode, e.tell_at, 1 as turn from checkout.ledger_entries e
      where e.tell_at is not null and e.kind = 'capture' and (e.account_id, e.test_mode) > (after_account collate "C", after_mode)
      order by e.account_id, e.test_mode, e.tell_at limit 1)
    union all
    select n.account_id, n.test_mode, n.tell_at, t.turn + 1 from turns t cross join lateral (
      select e.account_id, e.test_mode, e.tell_at from checkout.ledger_entries e
       where e.tell_at is not null and e.kind = 'capture' and (e.account_id, e.test_mode) > (t.account_id, t.test_mode)
       order by e.account_id, e.test_mode, e.tell_at limit 1) n
     where t.turn < most
  )
  select t.account_id, t.test_mode, t.tell_at <= now() from turns t
$$;
