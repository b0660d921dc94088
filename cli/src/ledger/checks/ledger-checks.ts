import type { RangeCheck } from '../ranges.ts';
import { isOf } from './checkout-checks.ts';

// The ledger, compared with the journals, with the movements on the processors' balances and with the balance transactions. Every lookup is by an index: see RangeCheck.

const own = ['account_id', 'test_mode', 'id'] as const;

// Each entry of a journal is posted once and for its amount. `waits` says whether it is due to be posted.
function entries(of: string, key: readonly string[], columns: readonly string[], texts: EntryTexts): RangeCheck {
  const { id, kind, waits, where } = texts;
  return {
    ...{ of, key, columns },
    faults: `with looked as materialized (
        select p.*, t.id as transaction_id_of, t.kind as posted_kind, t.amount_cents as posted_cents, d.debit_cents
        from page p
        left join lateral (select t.id, t.kind, t.amount_cents from refunds.ledger_transactions t where ${isOf('t', 'entry_id', 'p', id)} offset 0) t on true
        cross join lateral (select coalesce(sum(q.amount_cents) filter (where q.amount_cents > 0), 0) as debit_cents
          from refunds.ledger_postings q where (q.account_id, q.test_mode, q.transaction_id) = (p.account_id, p.test_mode, t.id)) d
        where ${where}
      )
      select ${waits}, 'entry_not_posted', p.account_id, p.test_mode, p.${id}, format('%s of %s', ${kind}, p.amount_cents)
      from looked p where p.transaction_id_of is null
      union all
      select 'wrong', 'entry_posted_differently', p.account_id, p.test_mode, p.${id},
        format('%s of %s, posted as %s of %s with debits of %s', ${kind}, p.amount_cents, p.posted_kind, p.posted_cents, p.debit_cents)
      from looked p where p.transaction_id_of is not null and (p.posted_kind, p.posted_cents, p.debit_cents) <> (${kind}, p.amount_cents, p.amount_cents)`,
  };
}

interface EntryTexts {
  readonly id: string;
  readonly kind: string;
  readonly waits: string;
  readonly where: string;
}

const captures = entries('checkout.ledger_entries', own, ['kind', 'amount_cents', 'tell_at'], {
  ...{ id: 'id', kind: 'p.kind', where: `p.kind = 'capture'` },
  // An entry that was told is on its way while the event that tells it is: that is asked once for all.
  waits: `case when p.tell_at is not null then 'unsettled' else 'told' end`,
});
const refunded = entries(
  'refunds.ledger_entries',
  ['account_id', 'test_mode', 'transaction_id', 'ledger_account'],
  ['kind', 'amount_cents', 'post_at'],
  {
    ...{ id: 'transaction_id', kind: 'p.kind', where: 'p.amount_cents > 0' },
    waits: `case when p.post_at is not null then 'unsettled' else 'wrong' end`,
  },
);
const moved = entries('refunds.suspense_moves', own, ['ledger_account', 'amount_cents'], {
  ...{ id: 'id', kind: `'suspense_move'`, where: 'true', waits: `'wrong'` },
});

const movedElsewhere: RangeCheck = {
  of: 'refunds.suspense_moves',
  key: own,
  columns: ['ledger_account', 'amount_cents'],
  faults: `select 'wrong', 'suspense_move_posted_elsewhere', p.account_id, p.test_mode, p.id, format('%s to %s', p.amount_cents, p.ledger_account)
    from page p
    left join lateral (select q.amount_cents from refunds.ledger_postings q
      where ${isOf('q', 'transaction_id', 'p')} and q.ledger_account = p.ledger_account offset 0) q on true
    where abs(q.amount_cents) is distinct from p.amount_cents`,
};

const transactions: RangeCheck = {
  of: 'refunds.ledger_transactions',
  key: own,
  columns: [
    ...[
      'kind',
      'processor',
      'processor_account',
      'entry_id',
      'processor_transaction_id',
      'amount_cents',
      'fee_cents',
      'net_cents',
    ],
    ...['balance_transaction_id', 'source_id', 'payment_intent_id'],
  ],
  faults: `with looked as materialized (
      select p.*, s.sum_cents, s.balance_cents, s.suspense_cents, m.moves, m.moved_cents
      from page p
      cross join lateral (select coalesce(sum(q.amount_cents), 0) as sum_cents,
          coalesce(sum(q.amount_cents) filter (where q.ledger_account = 'processor_balance'), 0) as balance_cents,
          coalesce(sum(q.amount_cents) filter (where q.ledger_account = 'suspense'), 0) as suspense_cents
        from refunds.ledger_postings q where ${isOf('q', 'transaction_id', 'p')}) s
      -- What operators moved out of suspense.
      cross join lateral (select count(*) as moves, coalesce(sum(q.amount_cents), 0) as moved_cents
        from refunds.suspense_moves m
        left join lateral (select q.amount_cents from refunds.ledger_postings q
          where ${isOf('q', 'transaction_id', 'm')} and q.ledger_account = 'suspense' offset 0) q on true
        where ${isOf('m', 'moved_transaction_id', 'p')}) m
    )
    select 'wrong', 'ledger_out_of_balance', p.account_id, p.test_mode, p.id, format('postings sum to %s', p.sum_cents)
    from looked p where p.sum_cents <> 0
    union all
    select 'wrong', 'ledger_moves_another_net', p.account_id, p.test_mode, p.id, format('%s on the balance, net %s', p.balance_cents, coalesce(p.net_cents, 0))
    from looked p where p.balance_cents <> coalesce(p.net_cents, 0)
    union all
    select 'wrong', 'posted_without_entry', p.account_id, p.test_mode, p.id, format('entry %s, %s of %s', p.entry_id, p.kind, p.amount_cents)
    from page p
    where p.entry_id is not null
      and not exists (select from checkout.ledger_entries e where ${isOf('e', 'id', 'p', 'entry_id')} and e.kind = 'capture' offset 0)
      and not exists (select from refunds.ledger_entries e where ${isOf('e', 'transaction_id', 'p', 'entry_id')} and e.amount_cents > 0 offset 0)
      and not exists (select from refunds.suspense_moves e where ${isOf('e', 'id', 'p', 'entry_id')} offset 0)
    union all
    select 'wrong', 'posted_without_movement', p.account_id, p.test_mode, p.id, format('movement %s, net %s', p.processor_transaction_id, p.net_cents)
    from page p
    where p.processor_transaction_id is not null
      and not exists (select from refunds.processor_transactions m where ${isOf('m', 'id', 'p', 'processor_transaction_id')}
        and (m.processor, m.processor_account) = (p.processor, p.processor_account) offset 0)
    union all
    select 'unsettled', 'movement_in_suspense', p.account_id, p.test_mode, p.processor_transaction_id,
      format('%s of %s, %s in suspense', p.kind, p.amount_cents, p.suspense_cents + p.moved_cents)
    from looked p where p.processor_transaction_id is not null and p.suspense_cents + p.moved_cents <> 0
    union all
    select 'wrong', 'moved_beyond_suspense', p.account_id, p.test_mode, p.processor_transaction_id, format('%s in suspense, %s moved', p.suspense_cents, p.moved_cents)
    from looked p where p.moves > 0 and (abs(p.moved_cents) > abs(p.suspense_cents) or sign(p.moved_cents) = sign(p.suspense_cents))
    union all
    select 'wrong', 'capture_without_balance_transaction', p.account_id, p.test_mode, p.id, coalesce(p.balance_transaction_id, 'none')
    from page p
    where p.kind = 'capture' and not exists (select from refunds.balance_transactions b
      where ${isOf('b', 'id', 'p', 'balance_transaction_id')} and b.amount_cents = p.amount_cents offset 0)
    union all
    -- What an earlier release leaves that runs beside this one: \`ledger repair\` gives each card its own.
    select 'wrong', 'refund_part_on_another_balance_transaction', p.account_id, p.test_mode, p.source_id,
      format('movement %s of %s is on %s, its card has %s', p.processor_transaction_id, p.amount_cents, p.balance_transaction_id, i.balance_transaction_id)
    from page p
    cross join lateral (select i.amount_cents, i.balance_transaction_id from refunds.refund_items i
      where ${isOf('i', 'refund_id', 'p', 'source_id')} and i.payment_intent_id = p.payment_intent_id offset 0) i
    where p.kind = 'refund' and p.processor_transaction_id is not null and p.amount_cents = - i.amount_cents
      and i.balance_transaction_id is not null and i.balance_transaction_id <> p.balance_transaction_id
    union all
    select 'wrong', 'captures_share_a_balance_transaction', p.account_id, p.test_mode, p.balance_transaction_id, format('%s captures', o.captures)
    from page p
    cross join lateral (select count(*) as captures, min(t.id) as first_id from refunds.ledger_transactions t
      where ${isOf('t', 'balance_transaction_id', 'p', 'balance_transaction_id')} and t.kind = 'capture') o
    where p.kind = 'capture' and o.captures > 1 and o.first_id = p.id`,
};

const movements: RangeCheck = {
  of: 'refunds.processor_transactions',
  key: ['account_id', 'test_mode', 'processor', 'processor_account', 'id'],
  columns: ['type', 'amount_cents', 'fee_cents', 'net_cents', 'match_at'],
  faults: `with looked as materialized (
      select p.*, t.id as transaction_id, t.amount_cents as posted_cents, t.fee_cents as posted_fee_cents, t.net_cents as posted_net_cents
      from page p
      left join lateral (select t.id, t.amount_cents, t.fee_cents, t.net_cents from refunds.ledger_transactions t
        where ${isOf('t', 'processor_transaction_id', 'p')} and (t.processor, t.processor_account) = (p.processor, p.processor_account) offset 0) t on true
    )
    select case when p.match_at is null then 'wrong' else 'unsettled' end, 'movement_not_posted', p.account_id, p.test_mode, p.id,
      format('%s of %s', p.type, p.amount_cents)
    from looked p where p.transaction_id is null
    union all
    select 'wrong', 'movement_posted_differently', p.account_id, p.test_mode, p.id,
      format('amount %s, fee %s, net %s, posted %s, %s, %s', p.amount_cents, p.fee_cents, p.net_cents, p.posted_cents, p.posted_fee_cents, p.posted_net_cents)
    from looked p where (p.amount_cents, p.fee_cents, p.net_cents) <> (p.posted_cents, p.posted_fee_cents, p.posted_net_cents)`,
};

// What partners see.
const balanceTransactions: RangeCheck = {
  of: 'refunds.balance_transactions',
  key: own,
  columns: ['type', 'amount_cents', 'fee_cents', 'settled_cents'],
  faults: `select 'wrong', 'balance_transaction_differs_from_its_movements', p.account_id, p.test_mode, p.id,
      format('settled %s with a fee of %s, movements %s with %s', p.settled_cents, p.fee_cents, s.amount_cents, s.fee_cents)
    from page p
    cross join lateral (select coalesce(sum(t.amount_cents), 0) as amount_cents, coalesce(sum(t.fee_cents), 0) as fee_cents
      from refunds.ledger_transactions t where ${isOf('t', 'balance_transaction_id', 'p')} and t.processor_transaction_id is not null) s
    where p.settled_cents <> s.amount_cents or p.settled_cents <> 0 and p.fee_cents <> s.fee_cents
    union all
    -- A movement that the processor does not list as our record has it stays here.
    select 'unsettled', 'balance_transaction_pending', p.account_id, p.test_mode, p.id, format('%s of %s, settled %s', p.type, p.amount_cents, p.settled_cents)
    from page p
    where p.settled_cents <> p.amount_cents and not (p.type in ('refund', 'refund_failure') and abs(p.settled_cents) > abs(p.amount_cents))
    union all
    -- One card's part of a refund that the movement of another card settled, too: that card's part stays pending.
    select 'wrong', 'refund_settled_beyond_its_amount', p.account_id, p.test_mode, p.id, format('%s of %s, settled %s', p.type, p.amount_cents, p.settled_cents)
    from page p where p.type in ('refund', 'refund_failure') and abs(p.settled_cents) > abs(p.amount_cents)`,
};

const charges: RangeCheck = {
  of: 'checkout.charges',
  key: own,
  columns: ['payment_intent_id', 'amount_captured_cents', 'balance_transaction_id'],
  // A charge with a capture that is not posted yet is left out.
  faults: `select 'wrong', 'charge_names_another_balance_transaction', p.account_id, p.test_mode, p.id,
      format('charge %s, posted %s', coalesce(p.balance_transaction_id, 'none'), array_to_string(n.ids, ' '))
    from page p
    cross join lateral (select array_agg(t.balance_transaction_id) as ids, count(*) as entries, count(t.id) as posted
      from checkout.ledger_entries e
      left join lateral (select t.id, t.balance_transaction_id from refunds.ledger_transactions t
        where ${isOf('t', 'entry_id', 'e')} and t.kind = 'capture' offset 0) t on true
      where ${isOf('e', 'payment_intent_id', 'p', 'payment_intent_id')} and e.kind = 'capture') n
    where p.amount_captured_cents > 0 and n.posted > 0 and n.posted = n.entries
      and coalesce(p.balance_transaction_id, 'fbtxn_' || split_part(p.id, '_', 2)) <> all (n.ids)`,
};

const disputes: RangeCheck = {
  of: 'refunds.disputes',
  key: own,
  columns: ['processor', 'processor_account'],
  // What was fetched with them, and what the balance shows.
  faults: `select 'wrong', 'dispute_differs_from_its_movements', p.account_id, p.test_mode, p.id, format('dispute %s, movements %s', m.amount_cents, t.amount_cents)
    from page p
    cross join lateral (select count(*) as movements, coalesce(sum(m.amount_cents), 0) as amount_cents
      from refunds.dispute_movements m where ${isOf('m', 'dispute_id', 'p')}) m
    cross join lateral (select coalesce(sum(t.amount_cents), 0) as amount_cents
      from refunds.ledger_transactions t where ${isOf('t', 'source_id', 'p')} and t.kind = 'dispute') t
    where m.movements > 0 and m.amount_cents <> t.amount_cents
      and not exists (select from refunds.dispute_movements w where ${isOf('w', 'dispute_id', 'p')}
        and not exists (select from refunds.ledger_transactions t where ${isOf('t', 'processor_transaction_id', 'w', 'processor_balance_transaction_id')}
          and (t.processor, t.processor_account) = (p.processor, p.processor_account) offset 0) offset 0)`,
};

function ofSamePlace(row: string): string {
  const columns = ['account_id', 'test_mode', 'processor', 'processor_account', 'ledger_account'];
  return columns.map((column) => `${row}.${column} = p.${column}`).join(' and ');
}

const months: RangeCheck = {
  of: 'refunds.ledger_totals',
  key: ['account_id', 'test_mode', 'grain', 'begins_on', 'processor', 'processor_account', 'ledger_account'],
  columns: ['amount_cents'],
  // The days are compared with the postings, and a month with its days.
  faults: `select 'wrong', 'total_differs_from_postings', p.account_id, p.test_mode, format('%s %s', p.begins_on, p.ledger_account),
      format('total of the month %s, of its days %s', p.amount_cents, d.amount_cents)
    from (select * from page where grain = 'month') p
    cross join lateral (select coalesce(sum(d.amount_cents), 0) as amount_cents from refunds.ledger_totals d
      where ${ofSamePlace('d')} and d.grain = 'day' and d.begins_on >= p.begins_on and d.begins_on < p.begins_on + interval '1 month') d
    where p.amount_cents <> d.amount_cents
    union all
    select 'wrong', 'total_differs_from_postings', p.account_id, p.test_mode, format('%s %s', p.begins_on, p.ledger_account),
      format('total of the day %s, of its month none', p.amount_cents)
    from (select *, date_trunc('month', begins_on::timestamp)::date as month from page where grain = 'day') p
    where not exists (select from refunds.ledger_totals m
      where ${ofSamePlace('m')} and m.grain = 'month' and m.begins_on = p.month offset 0)`,
};

/** What of the ledger is compared row by row. Its sums are compared by `check-sums.ts`. */
export const ledgerChecks: readonly RangeCheck[] = [
  ...[
    captures,
    refunded,
    moved,
    transactions,
    movements,
    movedElsewhere,
    balanceTransactions,
    charges,
    disputes,
    months,
  ],
];
