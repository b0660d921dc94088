-- Refunds that should have been settled by now: for a metric, so a count and no ids.
create or replace function refunds.refund_work_in_doubt(after_seconds integer) returns bigint
  language sql stable security definer set search_path = refunds, pg_temp as $$
  select (select count(*) from refunds.refunds r
           where r.next_check_at is not null and r.status = 'requested' and r.requested_at < now() - make_interval(secs => after_seconds))
       + (select count(*) from refunds.refund_attempts a
           where a.status in ('created', 'sending', 'unknown') and a.created_at < now() - make_interval(secs => after_seconds))
       -- Checkout has been told eight times, over more than five minutes (domain/pauses.ts).
       + (select count(*) from refunds.refund_items i where i.next_check_at is not null and i.status = 'releasing' and i.checks >= 8)
$$;
