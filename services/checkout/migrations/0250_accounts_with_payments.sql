-- Accounts and modes that have a payment, behind a place, with the processor account of the newest one (null: a row of an earlier release). For the
-- service that reads the processors' lists of events. It reads two entries of the primary key for each account, whatever the account has.
create function checkout.accounts_with_payments(after_account text, after_test_mode boolean, most integer)
  returns table (account_id text, test_mode boolean, processor checkout.processor, processor_account text)
  language sql stable security definer set search_path = checkout, pg_temp as $$
  with recursive turns as (
    (select i.account_id, i.test_mode, 1 as turn from checkout.payment_intents i
      where (i.account_id, i.test_mode) > (after_account collate "C", after_test_mode)
      order by i.account_id, i.test_mode limit 1)
    union all
    select n.account_id, n.test_mode, t.turn + 1 from turns t cross join lateral (
      select i.account_id, i.test_mode from checkout.payment_intents i
       where (i.account_id, i.test_mode) > (t.account_id, t.test_mode)
       order by i.account_id, i.test_mode limit 1) n
     where t.turn < most
  )
  select t.account_id, t.test_mode, l.processor, l.processor_account from turns t cross join lateral (
    select i.processor, i.processor_account from checkout.payment_intents i
     where i.account_id = t.account_id and i.test_mode = t.test_mode order by i.id desc limit 1) l
$$;
alter function checkout.accounts_with_payments(text, boolean, integer) owner to eligo_finder;
revoke all on function checkout.accounts_with_payments(text, boolean, integer) from public;
grant execute on function checkout.accounts_with_payments(text, boolean, integer) to :"role";
