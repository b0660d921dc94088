import type { RangeCheck } from '../ranges.ts';

// Sessions, intents, attempts, charges, keys, locks, events and refunds, compared with each other. Every lookup is by an index: see RangeCheck.

const own = ['account_id', 'test_mode', 'id'] as const;

/** Compares two rows' account, mode and one more column. */
export function isOf(row: string, column: string, other: string, otherColumn = 'id'): string {
  return `(${row}.account_id, ${row}.test_mode, ${row}.${column}) = (${other}.account_id, ${other}.test_mode, ${other}.${otherColumn})`;
}

// One event for each change of state. Ids are made in the order of time: a record that is older than an event that retention has deleted may have lost some of its own.
function eventsOf(events: readonly (readonly [type: string, times: string])[]): string {
  const counts = events.map(([type], at) => `count(*) filter (where o.type = '${type}') as n${at}`);
  const expected = events.map(([type, times], at) => `('${type}', n.n${at}, (${times})::int)`);
  return `select 'wrong', 'events_differ_from_changes', p.account_id, p.test_mode, p.id, format('%s %s times instead of %s', x.type, x.told, x.times)
    from page p
    cross join lateral (select ${counts.join(', ')} from checkout.outbox o where o.aggregate_id = p.id) n
    cross join lateral (values ${expected.join(', ')}) x (type, told, times)
    where x.told <> x.times
      and not (x.told < x.times and coalesce(right(p.id, 26) <= (select right(event_id, 26) from checkout.outbox_pruned), false))`;
}

const sessions: RangeCheck = {
  of: 'checkout.sessions',
  key: own,
  columns: [
    ...['status', 'capture_method', 'amount_received_cents', 'amount_refunded_cents', 'amount_total_cents'],
    'amount_eligible_cents',
  ],
  faults: `with looked as materialized (
      select p.*, i.received, i.refunded from page p
      cross join lateral (select coalesce(sum(i.amount_received_cents), 0) as received, coalesce(sum(i.amount_refunded_cents), 0) as refunded
        from checkout.payment_intents i where ${isOf('i', 'session_id', 'p')}) i
    )
    select 'wrong', 'session_received_differs_from_its_intents', p.account_id, p.test_mode, p.id,
      format('session %s, intents %s', p.amount_received_cents, p.received)
    from looked p where p.amount_received_cents <> p.received
    union all
    select 'wrong', 'session_refunded_differs_from_its_intents', p.account_id, p.test_mode, p.id,
      format('session %s, intents %s', p.amount_refunded_cents, p.refunded)
    from looked p where p.amount_refunded_cents <> p.refunded
    union all
    select 'wrong', 'more_was_received_than_one_payment', p.account_id, p.test_mode, p.id, format('%s of %s', p.amount_received_cents, p.amount_total_cents)
    from page p
    where p.status = 'complete' and p.capture_method = 'automatic'
      and p.amount_received_cents not in (0, p.amount_eligible_cents, p.amount_total_cents)
    union all
    -- A shop that captures by itself has received what its captures took.
    select case when k.is_pending then 'unsettled' else 'wrong' end, 'session_received_differs_from_its_captures', p.account_id, p.test_mode, p.id,
      format('session %s, captures %s', p.amount_received_cents, k.captured)
    from page p
    cross join lateral (select coalesce(bool_or(k.status = 'pending'), false) as is_pending,
        coalesce(sum(k.amount_cents) filter (where k.status = 'succeeded'), 0) as captured
      from checkout.captures k where ${isOf('k', 'session_id', 'p')}) k
    where p.capture_method = 'manual' and p.status in ('paid', 'complete') and p.amount_received_cents <> k.captured
    union all
    -- One whose payment came apart is canceled or has expired, and what it received goes back by a command.
    select case when exists (select from checkout.outbox o where o.aggregate_id = p.id and o.type = 'command.refund' offset 0) then 'unsettled' else 'wrong' end,
      'open_session_received_money', p.account_id, p.test_mode, p.id, p.amount_received_cents::text
    from page p
    where p.status in ('open', 'expired', 'canceled')
      and p.amount_received_cents > case when p.status in ('canceled', 'expired') then p.amount_refunded_cents else 0 end
      and not exists (select from checkout.payment_plans k where ${isOf('k', 'session_id', 'p')} and k.state in ('running', 'releasing') offset 0)
    union all
    ${eventsOf([
      ['checkout.session.completed', `p.status = 'complete'`],
      ['checkout.session.expired', `p.status in ('canceled', 'expired')`],
    ])}`,
};

const intents: RangeCheck = {
  of: 'checkout.payment_intents',
  key: own,
  columns: ['session_id', 'status', 'amount_received_cents', 'amount_refunded_cents'],
  faults: `select 'wrong', 'intent_differs_from_its_ledger_entries', p.account_id, p.test_mode, p.id,
      format('received %s, booked %s; refunded %s, booked %s', p.amount_received_cents, e.captured, p.amount_refunded_cents, e.refunded)
    from page p
    cross join lateral (select coalesce(sum(e.amount_cents) filter (where e.kind = 'capture'), 0) as captured,
        coalesce(sum(e.amount_cents) filter (where e.kind = 'refund_reserved'), 0)
          - coalesce(sum(e.amount_cents) filter (where e.kind = 'refund_released'), 0) as refunded
      from checkout.ledger_entries e where ${isOf('e', 'payment_intent_id', 'p')}) e
    where (p.amount_received_cents, p.amount_refunded_cents) is distinct from (e.captured, e.refunded)
    union all
    select 'wrong', 'intent_differs_from_its_charges', p.account_id, p.test_mode, p.id,
      format('received %s, charged %s in %s', p.amount_received_cents, c.captured, c.succeeded)
    from page p
    cross join lateral (select coalesce(sum(c.amount_captured_cents), 0) as captured, count(*) filter (where c.status = 'succeeded') as succeeded,
        count(*) filter (where c.status = 'failed') as failed
      from checkout.charges c where ${isOf('c', 'payment_intent_id', 'p')}) c
    where p.amount_received_cents <> c.captured or c.succeeded + c.failed > 1
    union all
    select 'wrong', 'intent_contradicts_its_attempt', p.account_id, p.test_mode, p.id, format('intent %s, attempt %s', p.status, coalesce(a.status, 'none'))
    from page p
    left join lateral (select a.status from checkout.charge_attempts a where ${isOf('a', 'payment_intent_id', 'p')} offset 0) a on true
    where p.status <> all (case a.status
      when 'succeeded' then array['succeeded', 'requires_capture']
      when 'declined' then array['requires_payment_method']
      when 'failed' then array['requires_payment_method']
      when 'abandoned' then array['canceled']
      when 'released' then array['canceled']
      else array['processing'] end)
    union all
    -- What checkout took out of the remaining balance, and what refunds gives back.
    select 'wrong', 'reserved_refunds_differ_from_refunds', p.account_id, p.test_mode, p.id, format('reserved %s, refunds %s', p.amount_refunded_cents, t.kept)
    from page p
    cross join lateral (select coalesce(sum(t.amount_cents) filter (where t.status not in ('failed', 'canceled')), 0) as kept
      from refunds.refund_items t where ${isOf('t', 'payment_intent_id', 'p')}) t
    where p.amount_refunded_cents <> t.kept
      and not exists (select from refunds.refunds r where r.account_id = p.account_id and r.test_mode = p.test_mode and r.status = 'requested'
        and r.next_check_at is not null and (r.subject_payment_intent_id = p.id or r.subject_session_id = p.session_id) offset 0)
    union all
    ${eventsOf([
      ['payment_intent.created', 'true'],
      ['payment_intent.succeeded', `p.status = 'succeeded'`],
      ['payment_intent.canceled', `p.status = 'canceled'`],
      ['payment_intent.payment_failed', `p.status = 'requires_payment_method'`],
    ])}`,
};

const live = `('created', 'sending', 'unknown', 'succeeded')`;

const attempts: RangeCheck = {
  of: 'checkout.charge_attempts',
  key: own,
  columns: ['purpose', 'subject_id', 'leg', 'status'],
  faults: `select 'wrong', 'charged_twice', p.account_id, p.test_mode, p.subject_id, format('%s live attempts for %s', o.attempts, p.leg)
    from page p
    cross join lateral (select count(*) as attempts, min(a.id) as first_id from checkout.charge_attempts a
      where ${isOf('a', 'subject_id', 'p', 'subject_id')} and a.purpose = p.purpose and a.leg = p.leg and a.status in ${live}) o
    where p.status in ${live} and o.attempts > 1 and o.first_id = p.id
    union all
    select 'unsettled', 'attempt_' || p.status, p.account_id, p.test_mode, p.id, p.subject_id
    from page p where p.status in ('created', 'sending', 'unknown')`,
};

const charges: RangeCheck = {
  of: 'checkout.charges',
  key: own,
  columns: ['status'],
  faults: eventsOf([
    ['charge.succeeded', `p.status = 'succeeded'`],
    ['charge.failed', `p.status = 'failed'`],
  ]),
};

const eligibilityRecords: RangeCheck = {
  of: 'checkout.eligibility_records',
  key: own,
  columns: ['session_id', 'charged_attempt_id'],
  // A hold that is authorized again, and the one that it takes the place of, have purposes of their own.
  faults: `select 'wrong', 'eligibility_record_contradicts_its_attempt', p.account_id, p.test_mode, p.id, format('%s, attempts %s', p.charged_attempt_id, a.ids)
    from page p
    cross join lateral (select max(a.id) as id, string_agg(a.id, ' ') as ids from checkout.charge_attempts a
      where ${isOf('a', 'subject_id', 'p', 'session_id')} and a.purpose = 'session' and a.leg = 'health' and a.status in ${live}
        and a.status = 'succeeded') a
    where p.charged_attempt_id is distinct from a.id`,
};

const keys: RangeCheck = {
  of: 'checkout.idempotency_keys',
  key: ['account_id', 'test_mode', 'endpoint', 'key'],
  columns: ['attempt_id', 'state'],
  // Keys have one answer.
  faults: `select 'wrong', case p.state when 'finished' then 'answer_before_its_attempt_is_settled' else 'settled_attempt_without_answer' end,
      p.account_id, p.test_mode, p.attempt_id, p.endpoint
    from page p
    cross join lateral (select a.status, a.driver from checkout.charge_attempts a where ${isOf('a', 'id', 'p', 'attempt_id')} offset 0) a
    where p.state = 'in_progress' and a.driver = 'confirm' and a.status in ('succeeded', 'declined', 'failed', 'abandoned')
      or p.state = 'finished' and a.status in ('created', 'sending', 'unknown')
    union all
    select 'wrong', 'capture_contradicts_its_answer', p.account_id, p.test_mode, p.attempt_id, format('key %s, capture %s', p.state, c.status)
    from page p
    cross join lateral (select c.status from checkout.captures c where ${isOf('c', 'id', 'p', 'attempt_id')} offset 0) c
    where (p.state = 'finished') <> (c.status <> 'pending')`,
};

const locks: RangeCheck = {
  of: 'checkout.payment_locks',
  key: ['account_id', 'test_mode', 'kind', 'id'],
  columns: ['attempt_id'],
  // What is settled holds nothing any more.
  faults: `select 'wrong', 'lock_outlives_its_attempt', p.account_id, p.test_mode, p.id, p.attempt_id
    from page p
    left join lateral (select a.status from checkout.charge_attempts a where ${isOf('a', 'id', 'p', 'attempt_id')} offset 0) a on true
    where coalesce(a.status not in ('created', 'sending', 'unknown'), not exists (select from checkout.payment_plans k
      where ${isOf('k', 'id', 'p', 'attempt_id')} and k.state in ('running', 'releasing') offset 0))`,
};

function unsettled(of: string, key: readonly string[], columns: readonly string[], faults: string): RangeCheck {
  return { of, key, columns, faults: `select 'unsettled', ${faults}` };
}

// What of money is on its way.
const inFlight: readonly RangeCheck[] = [
  unsettled(
    'checkout.intent_operations',
    own,
    ['kind', 'status', 'payment_intent_id'],
    `'hold_to_' || p.kind, p.account_id, p.test_mode, p.id, p.payment_intent_id from page p where p.status in ('waiting', 'pending')`,
  ),
  unsettled(
    'checkout.captures',
    own,
    ['status', 'session_id'],
    `'capture_pending', p.account_id, p.test_mode, p.id, p.session_id from page p where p.status = 'pending'`,
  ),
  unsettled(
    'checkout.payment_plans',
    ['account_id', 'test_mode', 'session_id', 'id'],
    ['state'],
    `'plan_' || p.state, p.account_id, p.test_mode, p.id, p.session_id from page p where p.state in ('running', 'releasing')`,
  ),
  unsettled(
    'refunds.refunds',
    own,
    ['status'],
    `'refund_' || p.status, p.account_id, p.test_mode, p.id, '' from page p where p.status = 'requested'`,
  ),
  unsettled(
    'refunds.refund_attempts',
    own,
    ['status', 'refund_id'],
    `'refund_attempt_' || p.status, p.account_id, p.test_mode, p.id, p.refund_id from page p where p.status in ('created', 'sending', 'unknown')`,
  ),
];

const refundItems: RangeCheck = {
  of: 'refunds.refund_items',
  key: ['account_id', 'test_mode', 'refund_id', 'payment_intent_id'],
  columns: ['status', 'amount_cents'],
  faults: `select 'wrong', 'refund_differs_from_its_movements', p.account_id, p.test_mode, p.refund_id,
      format('%s of %s, booked %s', p.status, p.amount_cents, e.booked)
    from page p
    cross join lateral (select coalesce(sum(case when e.ledger_account = 'refunds' then e.amount_cents else 0 end
        - case when e.credit_account = 'refunds' then e.amount_cents else 0 end), 0) as booked
      from refunds.ledger_entries e where ${isOf('e', 'refund_id', 'p', 'refund_id')} and e.payment_intent_id = p.payment_intent_id) e
    where e.booked <> case when p.status in ('failed', 'canceled') then 0 else p.amount_cents end and p.status <> 'releasing'
    union all
    select 'unsettled', 'refund_item_releasing', p.account_id, p.test_mode, p.refund_id, p.payment_intent_id
    from page p where p.status = 'releasing'`,
};

const refundEntries: RangeCheck = {
  of: 'refunds.ledger_entries',
  key: ['account_id', 'test_mode', 'transaction_id', 'ledger_account'],
  columns: ['credit_account'],
  faults: `select 'wrong', 'refund_movement_out_of_balance', p.account_id, p.test_mode, p.transaction_id, e.sum::text
    from page p
    cross join lateral (select sum(e.amount_cents) as sum, min(e.ledger_account) as first_account from refunds.ledger_entries e
      where ${isOf('e', 'transaction_id', 'p', 'transaction_id')} and e.credit_account is null) e
    where p.credit_account is null and e.first_account = p.ledger_account and e.sum <> 0`,
};

const schemas = ['catalog', 'checkout', 'billing', 'refunds', 'webhooks'] as const;

const deadLetters = schemas.map(
  (schema): RangeCheck => ({
    of: `${schema}.dead_letters`,
    key: ['consumer', 'event_id'],
    columns: ['account_id', 'test_mode', 'type'],
    faults: `select 'wrong', 'event_in_dead_letters', p.account_id, p.test_mode, p.event_id, p.consumer || ' ' || p.type from page p`,
  }),
);

const unpublished = schemas.map(
  (schema): RangeCheck => ({
    of: `${schema}.outbox_queue`,
    key: ['event_id'],
    faults: `select 'unsettled', 'event_unpublished', o.account_id, o.test_mode, o.event_id, o.type
      from page p
      cross join lateral (select o.* from ${schema}.outbox o where o.event_id = p.event_id offset 0) o`,
  }),
);

/** What of checkout and refunds is compared, over the schemas of all services. */
export const checkoutChecks: readonly RangeCheck[] = [
  ...[sessions, intents, attempts, charges, eligibilityRecords, keys, locks, ...inFlight, refundItems, refundEntries],
  ...[...deadLetters, ...unpublished],
];
