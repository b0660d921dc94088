import type { RangeCheck } from '../ranges.ts';
import { isOf } from './checkout-checks.ts';

// The sandbox's own list, the independent witness, compared with the records in both directions. It is in temporary tables (`sandbox-list.ts`).

// Money of an earlier release has no processor yet: that of test mode is at the sandbox.
const isAtSandbox = `(p.processor = 'sandbox' or p.processor is null and p.test_mode)`;

// A listed charge with what Eligo recorded for its attempt.
const withIntent = `select p.*, i.id as intent_id, i.amount_received_cents, i.status as intent_status,
      coalesce(a.status in ('created', 'sending', 'unknown'), false) or o.is_ending as is_in_flight
    from page p
    left join lateral (select a.status, a.payment_intent_id from checkout.charge_attempts a
      where ${isOf('a', 'id', 'p', 'attempt_id')} offset 0) a on true
    left join lateral (select i.id, i.amount_received_cents, i.status from checkout.payment_intents i
      where (i.account_id, i.test_mode, i.id) = (p.account_id, p.test_mode, a.payment_intent_id) offset 0) i on true
    cross join lateral (select count(*) > 0 as is_ending from checkout.intent_operations o
      where (o.account_id, o.test_mode, o.payment_intent_id) = (p.account_id, p.test_mode, i.id) and o.status = 'pending') o`;

const listedCharges: RangeCheck = {
  of: 'pg_temp.sandbox_charges',
  key: ['seq'],
  columns: [
    'account_id',
    'test_mode',
    'id',
    'amount',
    'captured',
    'released',
    'status',
    'attempt_id',
    'subject_id',
    'leg',
  ],
  faults: `with looked as materialized (${withIntent})
    select case when p.is_in_flight then 'unsettled' else 'wrong' end, 'charge_not_recorded', p.account_id, p.test_mode, p.id,
      format('captured %s by attempt %s, recorded %s', p.captured, p.attempt_id, p.amount_received_cents)
    from looked p
    where p.status = 'succeeded' and p.captured > 0 and p.captured is distinct from p.amount_received_cents
    union all
    select case when p.is_in_flight then 'unsettled' else 'wrong' end, 'hold_not_recorded', p.account_id, p.test_mode, p.id,
      format('held %s by attempt %s, the intent is %s', p.amount, p.attempt_id, p.intent_status)
    from looked p
    where p.status = 'succeeded' and p.captured = 0 and (p.intent_id is null or p.released <> (p.intent_status = 'canceled'))
    union all
    -- A card can be held twice for a moment: until a renewal is recorded, and until the hold that it takes the place of is voided. Money that was taken twice is never so.
    select case when o.firm > 1 then 'wrong' else 'unsettled' end, 'charged_twice_at_the_processor', p.account_id, p.test_mode, p.subject_id,
      format('%s charges for %s', o.charges, p.leg)
    from page p
    cross join lateral (select count(*) as charges, min(c.seq) as first_seq, count(*) filter (where c.captured > 0 or not e.is_passing) as firm
      from pg_temp.sandbox_charges c
      cross join lateral (select coalesce(a.status in ('created', 'sending', 'unknown'), false) or exists (select from checkout.intent_operations o
          where (o.account_id, o.test_mode, o.payment_intent_id) = (c.account_id, c.test_mode, a.payment_intent_id) and o.status = 'pending'
            and o.kind = 'cancel' offset 0) as is_passing
        from (values (1)) one (n)
        left join lateral (select a.status, a.payment_intent_id from checkout.charge_attempts a
          where ${isOf('a', 'id', 'c', 'attempt_id')} offset 0) a on true offset 0) e
      where c.subject_id = p.subject_id and c.leg = p.leg and c.status = 'succeeded' and not c.released) o
    where p.status = 'succeeded' and not p.released and o.charges > 1 and o.first_seq = p.seq`,
};

const recordedCharges: RangeCheck = {
  of: 'checkout.payment_intents',
  key: ['account_id', 'test_mode', 'id'],
  columns: ['amount_received_cents', 'processor'],
  faults: `select 'wrong', 'recorded_but_not_charged', p.account_id, p.test_mode, p.id, format('recorded %s', p.amount_received_cents)
    from page p
    where ${isAtSandbox} and p.amount_received_cents > 0
      and not exists (select from checkout.charge_attempts a
        cross join lateral (select from pg_temp.sandbox_charges c
          where c.attempt_id = a.id and c.status = 'succeeded' and c.captured = p.amount_received_cents offset 0) c
        where ${isOf('a', 'payment_intent_id', 'p')} offset 0)`,
};

const listedRefunds: RangeCheck = {
  of: 'pg_temp.sandbox_refunds',
  key: ['seq'],
  columns: ['account_id', 'test_mode', 'id', 'amount', 'status', 'attempt_id'],
  faults: `select case when a.status in ('created', 'sending', 'unknown') then 'unsettled' else 'wrong' end, 'refund_not_recorded', p.account_id, p.test_mode, p.id,
      format('gave back %s by attempt %s, recorded %s', p.amount, p.attempt_id, a.amount_cents)
    from page p
    left join lateral (select a.id, a.status, a.amount_cents, a.processor_refund_id from refunds.refund_attempts a
      where ${isOf('a', 'id', 'p', 'attempt_id')} offset 0) a on true
    where p.status in ('succeeded', 'pending')
      and (a.id is null or a.status not in ('accepted', 'ended') or a.amount_cents <> p.amount or a.processor_refund_id <> p.id)`,
};

const recordedRefunds: RangeCheck = {
  of: 'refunds.refund_items',
  key: ['account_id', 'test_mode', 'refund_id', 'payment_intent_id'],
  columns: ['status', 'amount_cents', 'processor'],
  faults: `select 'wrong', 'refund_recorded_but_not_given', p.account_id, p.test_mode, p.refund_id, format('recorded %s', p.amount_cents)
    from page p
    where ${isAtSandbox} and p.status = 'succeeded'
      and not exists (select from refunds.refund_attempts a
        cross join lateral (select from pg_temp.sandbox_refunds r
          where r.attempt_id = a.id and r.status = 'succeeded' and r.amount = p.amount_cents offset 0) r
        where ${isOf('a', 'refund_id', 'p', 'refund_id')} and a.payment_intent_id = p.payment_intent_id and a.status <> 'failed' offset 0)`,
};

/** What of the records is compared with the sandbox's list. */
export const sandboxChecks: readonly RangeCheck[] = [listedCharges, recordedCharges, listedRefunds, recordedRefunds];
