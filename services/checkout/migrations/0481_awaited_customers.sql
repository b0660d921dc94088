-- The first payment of a subscription waits for its customer, whom the bank asks to authenticate: for a day at most, in which Eligo confirms nothing any more.
alter table checkout.charge_attempts add column authenticate_until timestamptz;
alter table checkout.charge_attempts add constraint charge_attempts_awaits_its_customer check (
  authenticate_until is null or (
    purpose = 'invoice' and not off_session and processor_intent_id is not null and authenticate_until <= created_at + interval '24 hours')
) not valid;

-- As 0050, but what waits for its customer is in no doubt.
create or replace function checkout.charge_work_waiting(older_than interval)
  returns table (attempts_in_doubt bigint, plans bigint, holds bigint)
  language sql stable security definer set search_path = checkout, pg_temp as $$
  select
    (select count(*) from (select from checkout.charge_attempts a
      where a.status = 'sending' and a.created_at < now() - older_than and a.authenticate_until is null order by a.next_check_at limit 1000) counted)
    + (select count(*) from (select from checkout.charge_attempts a
      where a.status = 'unknown' and a.created_at < now() - older_than and a.authenticate_until is null order by a.next_check_at limit 1000) counted),
    (select count(*) from (select from checkout.payment_plans p
      where p.state in ('running', 'releasing') and p.lease_until < now() order by p.next_check_at limit 1000) counted),
    (select count(*) from (select from checkout.intent_operations o
      where o.status = 'pending' and o.created_at < now() - older_than order by o.next_check_at limit 1000) counted)
$$;
