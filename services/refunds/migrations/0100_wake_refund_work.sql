-- Makes work due that waits for its next check, once the processor responds again: at most `most` rows, those that are due first. It leaves rows that a process
-- has taken since `before`, and those that are due within two seconds. An accepted refund waits for its bank rather than for the processor.
create policy finder_wakes on refunds.refund_attempts for update to eligo_finder using (true) with check (true);
create policy finder_wakes on refunds.processor_events for update to eligo_finder using (true) with check (true);
grant update (next_check_at) on refunds.refund_attempts, refunds.processor_events to eligo_finder;

create function refunds.wake_refund_work(before timestamptz, most integer) returns bigint
  language sql volatile security definer set search_path = refunds, pg_temp as $$
  with waiting as materialized (
    select a.account_id, a.test_mode, a.id from refunds.refund_attempts a
     where a.status in ('created', 'sending', 'unknown') and a.next_check_at > now() + interval '2 seconds' and a.lease_until < before
     order by a.next_check_at limit most for no key update skip locked),
  woken as (
    update refunds.refund_attempts a set next_check_at = now() from waiting w
     where (a.account_id, a.test_mode, a.id) = (w.account_id, w.test_mode, w.id) returning 1)
  select count(*) from woken
$$;

-- The same for events of the processor whose object could not be fetched. They have no lease: a process that handles one moves its next check to the end of its
-- turn, so an event that is due sooner than a turn takes stays as it is.
create function refunds.wake_processor_events(turn interval, most integer) returns bigint
  language sql volatile security definer set search_path = refunds, pg_temp as $$
  with waiting as materialized (
    select e.account_id, e.test_mode, e.processor, e.id from refunds.processor_events e
     where e.next_check_at is not null and e.next_check_at > now() + turn
     order by e.next_check_at limit most for no key update skip locked),
  woken as (
    update refunds.processor_events e set next_check_at = now() from waiting w
     where (e.account_id, e.test_mode, e.processor, e.id) = (w.account_id, w.test_mode, w.processor, w.id) returning 1)
  select count(*) from woken
$$;
alter function refunds.wake_refund_work(timestamptz, integer) owner to eligo_finder;
alter function refunds.wake_processor_events(interval, integer) owner to eligo_finder;
revoke all on function refunds.wake_refund_work(timestamptz, integer) from public;
revoke all on function refunds.wake_processor_events(interval, integer) from public;
grant execute on function refunds.wake_refund_work(timestamptz, integer) to eligo_refunds;
grant execute on function refunds.wake_processor_events(interval, integer) to eligo_refunds;
