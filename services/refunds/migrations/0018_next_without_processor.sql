-- The next account and mode after this one with a part of a refund whose processor account is not stored, for the job that stores it. One entry of the index.
create function refunds.next_without_processor(after_account text, after_mode boolean)
  returns table (account_id text, test_mode boolean)
  language sql stable security definer set search_path = refunds, pg_temp as $$
  select i.account_id, i.test_mode from refunds.refund_items i
   where i.processor is null and (i.account_id, i.test_mode) > (after_account, after_mode)
   order by i.account_id, i.test_mode limit 1
$$;
alter function refunds.next_without_processor(text, boolean) owner to eligo_finder;
revoke all on function refunds.next_without_processor(text, boolean) from public;
grant execute on function refunds.next_without_processor(text, boolean) to :"role";
