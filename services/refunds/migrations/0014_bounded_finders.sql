-- Each count stops at a thousand: more than that asks for the same as a thousand does. A bitmap would hold all that is unsettled before the first
-- row is counted; the order is that of the index.
create or replace function refunds.refund_work_in_doubt(after_seconds integer) returns bigint
  language sql stable security definer set search_path = refunds, pg_temp set enable_bitmapscan = off as $$
  select
    (select count(*) from (select from refunds.refunds r
      where r.next_check_at is not null and r.status = 'requested' and r.requested_at < now() - make_interval(secs => after_seconds)
      order by r.next_check_at limit 1000) counted)
    + (select count(*) from (select from refunds.refund_attempts a
      where a.status in ('created', 'sending', 'unknown') and a.created_at < now() - make_interval(secs => after_seconds)
      order by a.next_check_at limit 1000) counted)
    -- Checkout has been told eight times, over more than five minutes (domain/pauses.ts).
    + (select count(*) from (select from refunds.refund_items i
      where i.next_check_at is not null and i.status = 'releasing' and i.checks >= 8
      order by i.next_check_at limit 1000) counted)
$$;

-- Attempts by the indexes of both kinds of them.
create or replace function refunds.due_refund_work_after(most integer, after_due timestamptz, after_kind text, after_id text, after_part text)
  returns table (kind text, account_id text, test_mode boolean, id text, part text, due_at timestamptz)
  language sql volatile security definer set search_path = refunds, pg_temp as $$
  select * from (
    (select 'requested' as kind, r.account_id, r.test_mode, r.id, '' as part, r.next_check_at as due_at from refunds.refunds r
      where r.status = 'requested' and r.next_check_at <= now() and (r.lease_until is null or r.lease_until <= now())
        and r.next_check_at >= after_due and (r.next_check_at, 'requested' collate "C", r.id, '') > (after_due, after_kind, after_id, after_part)
      order by r.next_check_at, r.id limit most)
    union all
    (select 'attempt', a.account_id, a.test_mode, a.id, '', a.next_check_at from refunds.refund_attempts a
      where a.status in ('created', 'sending', 'unknown') and a.next_check_at <= now() and a.lease_until <= now()
        and a.next_check_at >= after_due and (a.next_check_at, 'attempt' collate "C", a.id, '') > (after_due, after_kind, after_id, after_part)
      order by a.next_check_at, a.id limit most)
    union all
    (select 'attempt', a.account_id, a.test_mode, a.id, '', a.next_check_at from refunds.refund_attempts a
      where a.status = 'accepted' and a.next_check_at <= now() and a.lease_until <= now()
        and a.next_check_at >= after_due and (a.next_check_at, 'attempt' collate "C", a.id, '') > (after_due, after_kind, after_id, after_part)
      order by a.next_check_at, a.id limit most)
    union all
    (select 'releasing', i.account_id, i.test_mode, i.refund_id, i.payment_intent_id, i.next_check_at from refunds.refund_items i
      where i.status = 'releasing' and i.next_check_at <= now() and (i.lease_until is null or i.lease_until <= now())
        and i.next_check_at >= after_due
        and (i.next_check_at, 'releasing' collate "C", i.refund_id, i.payment_intent_id) > (after_due, after_kind, after_id, after_part)
      order by i.next_check_at, i.refund_id, i.payment_intent_id limit most)
  ) due
  order by due_at, kind collate "C", id collate "C", part collate "C" limit most
$$;

create or replace function refunds.next_refund_work() returns timestamptz
  language sql stable security definer set search_path = refunds, pg_temp as $$
  select least(
    (select r.next_check_at from refunds.refunds r where r.next_check_at is not null order by r.next_check_at limit 1),
    (select a.next_check_at from refunds.refund_attempts a
      where a.status in ('created', 'sending', 'unknown') order by a.next_check_at limit 1),
    (select a.next_check_at from refunds.refund_attempts a where a.status = 'accepted' order by a.next_check_at limit 1),
    (select i.next_check_at from refunds.refund_items i where i.next_check_at is not null order by i.next_check_at limit 1))
$$;
