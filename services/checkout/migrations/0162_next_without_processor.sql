-- The next account and mode after this one with a row whose processor account is not stored, for the job that stores it. One entry of each index.
create policy finder_reads on checkout.payment_methods for select to eligo_finder using (true);
create policy finder_reads on checkout.customers for select to eligo_finder using (true);
create policy finder_reads on checkout.setup_intents for select to eligo_finder using (true);
create policy finder_reads on checkout.payment_intents for select to eligo_finder using (true);
grant select on checkout.payment_methods, checkout.customers, checkout.setup_intents, checkout.payment_intents to eligo_finder;
create function checkout.next_without_processor(after_account text, after_mode boolean)
  returns table (account_id text, test_mode boolean)
  language sql stable security definer set search_path = checkout, pg_temp as $$
  select f.account_id, f.test_mode from (
    (select m.account_id, m.test_mode from checkout.payment_methods m
      where m.processor is null and (m.account_id, m.test_mode) > (after_account, after_mode) order by m.account_id, m.test_mode limit 1)
    union all
    (select c.account_id, c.test_mode from checkout.customers c
      where c.processor is null and c.processor_customer_id is not null and (c.account_id, c.test_mode) > (after_account, after_mode)
      order by c.account_id, c.test_mode limit 1)
    union all
    (select s.account_id, s.test_mode from checkout.setup_intents s
      where s.processor is null and (s.account_id, s.test_mode) > (after_account, after_mode) order by s.account_id, s.test_mode limit 1)
    union all
    (select i.account_id, i.test_mode from checkout.payment_intents i
      where i.processor is null and (i.account_id, i.test_mode) > (after_account, after_mode) order by i.account_id, i.test_mode limit 1)
    union all
    (select a.account_id, a.test_mode from checkout.charge_attempts a
      where a.processor is null and (a.account_id, a.test_mode) > (after_account, after_mode) order by a.account_id, a.test_mode limit 1)
  ) f order by f.account_id, f.test_mode limit 1
$$;
alter function checkout.next_without_processor(text, boolean) owner to eligo_finder;
revoke all on function checkout.next_without_processor(text, boolean) from public;
grant execute on function checkout.next_without_processor(text, boolean) to :"role";
