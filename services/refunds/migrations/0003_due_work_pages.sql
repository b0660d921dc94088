-- Due work in pages, oldest first, each beginning after the last row of the one before: a sweep goes forward through a backlog, also when
-- rows of it stay due. Found by index in the order of time; within one moment by kind and id.

create function refunds.due_refund_work_after(most integer, after_due timestamptz, after_kind text, after_id text, after_part text)
  returns table (kind text, account_id text, test_mode boolean, id text, part text, due_at timestamptz)
  language sql volatile security definer set search_path = refunds, pg_temp as $$
  select * from (
    (select 'requested' as kind, r.account_id, r.test_mode, r.id, '' as part, r.next_check_at as due_at from refunds.refunds r
      where r.status = 'requested' and r.next_check_at <= now() and (r.lease_until is null or r.lease_until <= now())
        and r.next_check_at >= after_due and (r.next_check_at, 'requested' collate "C", r.id, '') > (after_due, after_kind, after_id, after_part)
      order by r.next_check_at, r.id limit most)
    union all
    (select 'attempt', a.account_id, a.test_mode, a.id, '', a.next_check_at from refunds.refund_attempts a
      where a.status in ('created', 'sending', 'unknown', 'accepted') and a.next_check_at <= now() and a.lease_until <= now()
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
alter function refunds.due_refund_work_after(integer, timestamptz, text, text, text) owner to eligo_finder;
revoke all on function refunds.due_refund_work_after(integer, timestamptz, text, text, text) from public;
grant execute on function refunds.due_refund_work_after(integer, timestamptz, text, text, text) to eligo_refunds;
