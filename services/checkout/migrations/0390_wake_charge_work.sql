-- Makes work due that waits for its next check, once the processor responds again: of each kind at most `most` rows, those that are due first. It leaves rows
-- that a process has taken since `before`, and those that are due within two seconds. The sweeper then takes them at its own pace.
create policy finder_wakes on checkout.charge_attempts for update to eligo_finder using (true) with check (true);
create policy finder_wakes on checkout.intent_operations for update to eligo_finder using (true) with check (true);
create policy finder_wakes on checkout.payment_plans for update to eligo_finder using (true) with check (true);
grant update (next_check_at) on checkout.charge_attempts, checkout.intent_operations, checkout.payment_plans to eligo_finder;

create function checkout.wake_charge_work(before timestamptz, most integer) returns bigint
  language sql volatile security definer set search_path = checkout, pg_temp as $$
  with attempts as materialized (
    select a.account_id, a.test_mode, a.id from checkout.charge_attempts a
     where a.status = 'unknown' and a.next_check_at > now() + interval '2 seconds' and a.lease_until < before
     order by a.next_check_at limit most for no key update skip locked),
  operations as materialized (
    select o.account_id, o.test_mode, o.id from checkout.intent_operations o
     where o.status = 'pending' and o.next_check_at > now() + interval '2 seconds' and o.lease_until < before
     order by o.next_check_at limit most for no key update skip locked),
  plans as materialized (
    select p.account_id, p.test_mode, p.session_id, p.id from checkout.payment_plans p
     where p.state in ('running', 'releasing') and p.next_check_at > now() + interval '2 seconds' and p.lease_until < before
     order by p.next_check_at limit most for no key update skip locked),
  woken_attempts as (
    update checkout.charge_attempts a set next_check_at = now() from attempts w
     where (a.account_id, a.test_mode, a.id) = (w.account_id, w.test_mode, w.id) returning 1),
  woken_operations as (
    update checkout.intent_operations o set next_check_at = now() from operations w
     where (o.account_id, o.test_mode, o.id) = (w.account_id, w.test_mode, w.id) returning 1),
  woken_plans as (
    update checkout.payment_plans p set next_check_at = now() from plans w
     where (p.account_id, p.test_mode, p.session_id, p.id) = (w.account_id, w.test_mode, w.session_id, w.id) returning 1)
  select (select count(*) from woken_attempts) + (select count(*) from woken_operations) + (select count(*) from woken_plans)
$$;
alter function checkout.wake_charge_work(timestamptz, integer) owner to eligo_finder;
revoke all on function checkout.wake_charge_work(timestamptz, integer) from public;
grant execute on function checkout.wake_charge_work(timestamptz, integer) to eligo_checkout;
