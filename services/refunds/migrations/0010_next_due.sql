-- When the next refund, attempt or card's part falls due, so that the sweep sleeps until then. By index, one entry each: refunds_due,
-- refund_attempts_due and refund_items_due.
create function refunds.next_refund_work() returns timestamptz
  language sql stable security definer set search_path = refunds, pg_temp as $$
  select least(
    (select r.next_check_at from refunds.refunds r where r.next_check_at is not null order by r.next_check_at limit 1),
    (select a.next_check_at from refunds.refund_attempts a
      where a.status in ('created', 'sending', 'unknown', 'accepted') order by a.next_check_at limit 1),
    (select i.next_check_at from refunds.refund_items i where i.next_check_at is not null order by i.next_check_at limit 1))
$$;
alter function refunds.next_refund_work() owner to eligo_finder;
revoke all on function refunds.next_refund_work() from public;
grant execute on function refunds.next_refund_work() to :"role";
