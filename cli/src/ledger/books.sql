-- Whether the books agree: sessions, intents, attempts, charges, ledger entries, keys, locks, events, refunds and the processor's own list.
-- Answers one row for each fault. `wrong` must never be; `unsettled` is on its way, and must be gone once nothing is under way any more.
-- $1 is the processor's list, {"charges": […], "refunds": […]}, or null: then only Eligo's own records are compared.
-- Runs as a role that row-level security does not bind, over the schemas of checkout, refunds and webhooks.
with processor_charges as (
  select c ->> 'id' as id, (c ->> 'amount')::bigint as amount, (c ->> 'amount_captured')::bigint as captured, c ->> 'status' as status,
    coalesce((c ->> 'released')::boolean, false) as released, c -> 'metadata' ->> 'attempt' as attempt_id,
    c -> 'metadata' ->> 'payment_intent' as intent_id
  from jsonb_array_elements($1::jsonb -> 'charges') c
), processor_refunds as (
  select r ->> 'id' as id, (r ->> 'amount')::bigint as amount, r ->> 'status' as status, r -> 'metadata' ->> 'attempt' as attempt_id
  from jsonb_array_elements($1::jsonb -> 'refunds') r
), intents as (
  select i.*, a.id as attempt_id, a.status as attempt_status, a.driver, a.capture_method as attempt_capture,
    coalesce(a.status in ('created', 'sending', 'unknown'), false) as unsettled,
    exists (select from checkout.intent_operations o
      where (o.account_id, o.test_mode, o.payment_intent_id) = (i.account_id, i.test_mode, i.id) and o.status = 'pending') as ending
  from checkout.payment_intents i
  left join checkout.charge_attempts a on (a.account_id, a.test_mode, a.payment_intent_id) = (i.account_id, i.test_mode, i.id)
), entries as (
  select account_id, test_mode, payment_intent_id,
    coalesce(sum(amount_cents) filter (where kind = 'capture'), 0) as captured,
    coalesce(sum(amount_cents) filter (where kind = 'refund_reserved'), 0)
      - coalesce(sum(amount_cents) filter (where kind = 'refund_released'), 0) as refunded
  from checkout.ledger_entries group by 1, 2, 3
), own_charges as (
  select account_id, test_mode, payment_intent_id, sum(amount_captured_cents) as captured,
    count(*) filter (where status = 'succeeded') as succeeded, count(*) filter (where status = 'failed') as failed
  from checkout.charges group by 1, 2, 3
), told as (
  select aggregate_id, type, count(*) as times from checkout.outbox group by 1, 2
), pruned as (
  -- Ids are made in the order of time: a record that is older than an event that retention has deleted may have lost some of its own.
  select right(event_id, 26) as made from checkout.outbox_pruned
), expected_events as (
  select account_id, test_mode, id, 'checkout.session.completed' as type, (status = 'complete')::int as times from checkout.sessions
  union all
  select account_id, test_mode, id, 'checkout.session.expired', (status in ('canceled', 'expired'))::int from checkout.sessions
  union all
  select account_id, test_mode, id, 'payment_intent.created', 1 from checkout.payment_intents
  union all
  select account_id, test_mode, id, 'payment_intent.succeeded', (status = 'succeeded')::int from checkout.payment_intents
  union all
  select account_id, test_mode, id, 'payment_intent.canceled', (status = 'canceled')::int from checkout.payment_intents
  union all
  select account_id, test_mode, id, 'payment_intent.payment_failed', (status = 'requires_payment_method')::int from checkout.payment_intents
  union all
  select account_id, test_mode, id, 'charge.succeeded', (status = 'succeeded')::int from checkout.charges
  union all
  select account_id, test_mode, id, 'charge.failed', (status = 'failed')::int from checkout.charges
), items as (
  select account_id, test_mode, payment_intent_id,
    coalesce(sum(amount_cents) filter (where status not in ('failed', 'canceled')), 0) as kept
  from refunds.refund_items group by 1, 2, 3
), movements as (
  select account_id, test_mode, refund_id, payment_intent_id, ledger_account, amount_cents from refunds.ledger_entries
  union all
  select account_id, test_mode, refund_id, payment_intent_id, credit_account, - amount_cents from refunds.ledger_entries
  where credit_account is not null
), found (state, fault, account_id, test_mode, id, detail) as (
  -- The session, its intents, and what each of them is made of.
  select 'wrong', 'session_received_differs_from_its_intents', s.account_id, s.test_mode, s.id,
    format('session %s, intents %s', s.amount_received_cents, coalesce(sum(i.amount_received_cents), 0))
  from checkout.sessions s
  left join checkout.payment_intents i on (i.account_id, i.test_mode, i.session_id) = (s.account_id, s.test_mode, s.id)
  group by s.account_id, s.test_mode, s.id
  having s.amount_received_cents <> coalesce(sum(i.amount_received_cents), 0)
  union all
  select 'wrong', 'session_refunded_differs_from_its_intents', s.account_id, s.test_mode, s.id,
    format('session %s, intents %s', s.amount_refunded_cents, coalesce(sum(i.amount_refunded_cents), 0))
  from checkout.sessions s
  left join checkout.payment_intents i on (i.account_id, i.test_mode, i.session_id) = (s.account_id, s.test_mode, s.id)
  group by s.account_id, s.test_mode, s.id
  having s.amount_refunded_cents <> coalesce(sum(i.amount_refunded_cents), 0)
  union all
  select 'wrong', 'more_was_received_than_one_payment', s.account_id, s.test_mode, s.id, format('%s of %s', s.amount_received_cents, s.amount_total_cents)
  from checkout.sessions s
  where s.status = 'complete' and s.capture_method = 'automatic'
    and s.amount_received_cents not in (0, s.amount_eligible_cents, s.amount_total_cents)
  union all
  -- A shop that captures by itself has received what its captures took.
  select case when bool_or(k.status = 'pending') then 'unsettled' else 'wrong' end, 'session_received_differs_from_its_captures',
    s.account_id, s.test_mode, s.id,
    format('session %s, captures %s', s.amount_received_cents, coalesce(sum(k.amount_cents) filter (where k.status = 'succeeded'), 0))
  from checkout.sessions s
  left join checkout.captures k on (k.account_id, k.test_mode, k.session_id) = (s.account_id, s.test_mode, s.id)
  where s.capture_method = 'manual' and s.status in ('paid', 'complete')
  group by s.account_id, s.test_mode, s.id
  having s.amount_received_cents <> coalesce(sum(k.amount_cents) filter (where k.status = 'succeeded'), 0)
  union all
  -- One whose payment came apart is canceled or has expired, and what it received goes back by a command.
  select case when exists (select from checkout.outbox o where o.aggregate_id = s.id and o.type = 'command.refund') then 'unsettled' else 'wrong' end,
    'open_session_received_money', s.account_id, s.test_mode, s.id, s.amount_received_cents::text
  from checkout.sessions s
  where s.status in ('open', 'expired', 'canceled') and s.amount_received_cents > case when s.status in ('canceled', 'expired') then s.amount_refunded_cents else 0 end
    and not exists (select from checkout.payment_plans p
      where (p.account_id, p.test_mode, p.session_id) = (s.account_id, s.test_mode, s.id) and p.state in ('running', 'releasing'))
  union all
  select 'wrong', 'intent_differs_from_its_ledger_entries', i.account_id, i.test_mode, i.id,
    format('received %s, booked %s; refunded %s, booked %s', i.amount_received_cents, coalesce(e.captured, 0), i.amount_refunded_cents, coalesce(e.refunded, 0))
  from intents i left join entries e on (e.account_id, e.test_mode, e.payment_intent_id) = (i.account_id, i.test_mode, i.id)
  where (i.amount_received_cents, i.amount_refunded_cents) is distinct from (coalesce(e.captured, 0), coalesce(e.refunded, 0))
  union all
  select 'wrong', 'intent_differs_from_its_charges', i.account_id, i.test_mode, i.id,
    format('received %s, charged %s in %s', i.amount_received_cents, coalesce(c.captured, 0), coalesce(c.succeeded, 0))
  from intents i left join own_charges c on (c.account_id, c.test_mode, c.payment_intent_id) = (i.account_id, i.test_mode, i.id)
  where i.amount_received_cents <> coalesce(c.captured, 0) or coalesce(c.succeeded, 0) + coalesce(c.failed, 0) > 1
  union all
  select 'wrong', 'intent_contradicts_its_attempt', i.account_id, i.test_mode, i.id, format('intent %s, attempt %s', i.status, coalesce(i.attempt_status, 'none'))
  from intents i
  where i.status <> all (case i.attempt_status
    when 'succeeded' then array['succeeded', 'requires_capture']
    when 'declined' then array['requires_payment_method']
    when 'failed' then array['requires_payment_method']
    when 'abandoned' then array['canceled']
    when 'released' then array['canceled']
    else array['processing'] end)
  union all
  select 'wrong', 'charged_twice', a.account_id, a.test_mode, a.subject_id, format('%s live attempts for %s', count(*), a.leg)
  from checkout.charge_attempts a where a.status in ('created', 'sending', 'unknown', 'succeeded')
  group by a.account_id, a.test_mode, a.purpose, a.subject_id, a.leg having count(*) > 1
  union all
  select 'wrong', 'eligibility_record_contradicts_its_attempt', r.account_id, r.test_mode, r.id, format('%s, attempts %s', r.charged_attempt_id, string_agg(a.id, ' '))
  from checkout.eligibility_records r
  left join checkout.charge_attempts a on (a.account_id, a.test_mode, a.subject_id, a.leg) = (r.account_id, r.test_mode, r.session_id, 'health')
    and a.status = 'succeeded'
  group by r.account_id, r.test_mode, r.id having r.charged_attempt_id is distinct from max(a.id)
  union all
  -- Keys have one answer, and what is settled holds nothing any more.
  select 'wrong', 'settled_attempt_without_answer', k.account_id, k.test_mode, k.attempt_id, k.endpoint
  from checkout.idempotency_keys k
  join checkout.charge_attempts a on (a.account_id, a.test_mode, a.id) = (k.account_id, k.test_mode, k.attempt_id)
  where k.state = 'in_progress' and a.driver = 'confirm' and a.status in ('succeeded', 'declined', 'failed', 'abandoned')
  union all
  select 'wrong', 'answer_before_its_attempt_is_settled', k.account_id, k.test_mode, k.attempt_id, k.endpoint
  from checkout.idempotency_keys k
  join checkout.charge_attempts a on (a.account_id, a.test_mode, a.id) = (k.account_id, k.test_mode, k.attempt_id)
  where k.state = 'finished' and a.status in ('created', 'sending', 'unknown')
  union all
  select 'wrong', 'capture_contradicts_its_answer', k.account_id, k.test_mode, k.attempt_id, format('key %s, capture %s', k.state, c.status)
  from checkout.idempotency_keys k
  join checkout.captures c on (c.account_id, c.test_mode, c.id) = (k.account_id, k.test_mode, k.attempt_id)
  where (k.state = 'finished') <> (c.status <> 'pending')
  union all
  select 'wrong', 'lock_outlives_its_attempt', l.account_id, l.test_mode, l.id, l.attempt_id
  from checkout.payment_locks l
  left join checkout.charge_attempts a on (a.account_id, a.test_mode, a.id) = (l.account_id, l.test_mode, l.attempt_id)
  left join checkout.payment_plans p on (p.account_id, p.test_mode, p.id) = (l.account_id, l.test_mode, l.attempt_id)
  where coalesce(a.status not in ('created', 'sending', 'unknown'), p.state not in ('running', 'releasing'), true)
  union all
  -- One event for each change of state, and each of them handled.
  select 'wrong', 'events_differ_from_changes', x.account_id, x.test_mode, x.id, format('%s %s times instead of %s', x.type, coalesce(t.times, 0), x.times)
  from expected_events x left join told t on t.aggregate_id = x.id and t.type = x.type
  where coalesce(t.times, 0) <> x.times and not (coalesce(t.times, 0) < x.times and exists (select from pruned p where right(x.id, 26) <= p.made))
  union all
  select 'wrong', 'event_in_dead_letters', d.account_id, d.test_mode, d.event_id, d.consumer || ' ' || d.type
  from (select * from catalog.dead_letters union all select * from checkout.dead_letters union all select * from billing.dead_letters
    union all select * from refunds.dead_letters union all select * from webhooks.dead_letters) d
  union all
  select 'unsettled', 'event_unpublished', o.account_id, o.test_mode, o.event_id, o.type
  from (select * from catalog.outbox join catalog.outbox_queue using (event_id)
    union all select * from checkout.outbox join checkout.outbox_queue using (event_id)
    union all select * from billing.outbox join billing.outbox_queue using (event_id)
    union all select * from refunds.outbox join refunds.outbox_queue using (event_id)
    union all select * from webhooks.outbox join webhooks.outbox_queue using (event_id)) o
  union all
  -- What of money is still on its way.
  select 'unsettled', 'attempt_' || a.status, a.account_id, a.test_mode, a.id, a.subject_id
  from checkout.charge_attempts a where a.status in ('created', 'sending', 'unknown')
  union all
  select 'unsettled', 'hold_to_' || o.kind, o.account_id, o.test_mode, o.id, o.payment_intent_id
  from checkout.intent_operations o where o.status in ('waiting', 'pending')
  union all
  select 'unsettled', 'capture_pending', c.account_id, c.test_mode, c.id, c.session_id
  from checkout.captures c where c.status = 'pending'
  union all
  select 'unsettled', 'plan_' || p.state, p.account_id, p.test_mode, p.id, p.session_id
  from checkout.payment_plans p where p.state in ('running', 'releasing')
  union all
  -- Refunds: what checkout took out of the rest, what refunds gives back, and its own books.
  select 'wrong', 'reserved_refunds_differ_from_refunds', i.account_id, i.test_mode, i.id, format('reserved %s, refunds %s', i.amount_refunded_cents, coalesce(t.kept, 0))
  from intents i left join items t on (t.account_id, t.test_mode, t.payment_intent_id) = (i.account_id, i.test_mode, i.id)
  where i.amount_refunded_cents <> coalesce(t.kept, 0)
    and not exists (select from refunds.refunds r where r.account_id = i.account_id and r.test_mode = i.test_mode and r.status = 'requested'
      and (r.subject_payment_intent_id = i.id or r.subject_session_id = i.session_id))
  union all
  select 'wrong', 'refund_movement_out_of_balance', e.account_id, e.test_mode, e.transaction_id, sum(e.amount_cents)::text
  from refunds.ledger_entries e where e.credit_account is null
  group by e.account_id, e.test_mode, e.transaction_id having sum(e.amount_cents) <> 0
  union all
  select 'wrong', 'refund_differs_from_its_movements', t.account_id, t.test_mode, t.refund_id, format('%s of %s, booked %s', t.status, t.amount_cents, coalesce(sum(e.amount_cents), 0))
  from refunds.refund_items t
  left join movements e on (e.account_id, e.test_mode, e.refund_id, e.payment_intent_id)
    = (t.account_id, t.test_mode, t.refund_id, t.payment_intent_id) and e.ledger_account = 'refunds'
  group by t.account_id, t.test_mode, t.refund_id, t.payment_intent_id
  having coalesce(sum(e.amount_cents), 0) <> case when t.status in ('failed', 'canceled') then 0 else t.amount_cents end
    and t.status <> 'releasing'
  union all
  select 'unsettled', 'refund_' || r.status, r.account_id, r.test_mode, r.id, '' from refunds.refunds r where r.status = 'requested'
  union all
  select 'unsettled', 'refund_attempt_' || a.status, a.account_id, a.test_mode, a.id, a.refund_id
  from refunds.refund_attempts a where a.status in ('created', 'sending', 'unknown')
  union all
  select 'unsettled', 'refund_item_releasing', t.account_id, t.test_mode, t.refund_id, t.payment_intent_id
  from refunds.refund_items t where t.status = 'releasing'
  union all
  -- The processor, the independent witness.
  select case when i.unsettled or i.ending then 'unsettled' else 'wrong' end, 'charge_not_recorded', i.account_id, i.test_mode, p.id,
    format('captured %s by attempt %s, recorded %s', p.captured, p.attempt_id, i.amount_received_cents)
  from processor_charges p left join intents i on i.attempt_id = p.attempt_id
  where p.status = 'succeeded' and p.captured > 0 and p.captured is distinct from i.amount_received_cents
  union all
  select 'wrong', 'charged_twice_at_the_processor', min(i.account_id), bool_or(i.test_mode), coalesce(i.session_id, i.invoice_id, p.attempt_id),
    format('%s charges for %s', count(*), i.leg)
  from processor_charges p left join intents i on i.attempt_id = p.attempt_id
  where p.status = 'succeeded' and not p.released
  group by coalesce(i.session_id, i.invoice_id, p.attempt_id), i.leg having count(*) > 1
  union all
  select 'wrong', 'recorded_but_not_charged', i.account_id, i.test_mode, i.id, format('recorded %s', i.amount_received_cents)
  from intents i
  where $1::jsonb is not null and i.test_mode and i.amount_received_cents > 0
    and not exists (select from processor_charges p
      where p.attempt_id = i.attempt_id and p.status = 'succeeded' and p.captured = i.amount_received_cents)
  union all
  select case when i.unsettled or i.ending then 'unsettled' else 'wrong' end, 'hold_not_recorded', i.account_id, i.test_mode, p.id,
    format('held %s by attempt %s, the intent is %s', p.amount, p.attempt_id, i.status)
  from processor_charges p left join intents i on i.attempt_id = p.attempt_id
  where p.status = 'succeeded' and p.captured = 0 and (i.id is null or p.released <> (i.status = 'canceled'))
  union all
  select case when a.status in ('created', 'sending', 'unknown') then 'unsettled' else 'wrong' end, 'refund_not_recorded', a.account_id, a.test_mode, p.id,
    format('gave back %s by attempt %s, recorded %s', p.amount, p.attempt_id, a.amount_cents)
  from processor_refunds p left join refunds.refund_attempts a on a.id = p.attempt_id
  where p.status in ('succeeded', 'pending')
    and (a.id is null or a.status not in ('accepted', 'ended') or a.amount_cents <> p.amount or a.processor_refund_id <> p.id)
  union all
  select 'wrong', 'refund_recorded_but_not_given', t.account_id, t.test_mode, t.refund_id, format('recorded %s', t.amount_cents)
  from refunds.refund_items t
  where $1::jsonb is not null and t.test_mode and t.status = 'succeeded'
    and not exists (select from refunds.refund_attempts a join processor_refunds p on p.attempt_id = a.id and p.status = 'succeeded' and p.amount = t.amount_cents
      where (a.account_id, a.test_mode, a.refund_id, a.payment_intent_id) = (t.account_id, t.test_mode, t.refund_id, t.payment_intent_id))
)
select state, fault, account_id, test_mode, id, detail from found order by state desc, fault, id limit 1000
