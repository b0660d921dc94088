-- Whether the ledger agrees with the journals, with the movements on the processors' balances and with the balance transactions, to the cent.
-- Answers one row for each fault. `wrong` must never be; `unsettled` is on its way, or waits for an operator (suspense).
-- Runs as a role that row-level security does not bind, over the schemas of checkout and refunds.
with telling as (
  -- Accounts whose captures are told by events that refunds has not handled yet.
  select distinct o.account_id, o.test_mode from checkout.outbox o
   where o.type = 'command.journal' and not exists (select from refunds.inbox i where i.consumer = 'ledger' and i.event_id = o.event_id)
), entries as (
  select e.account_id, e.test_mode, e.id, e.kind, e.amount_cents, e.tell_at is not null
    or (e.account_id, e.test_mode) in (select account_id, test_mode from telling) as is_waiting
  from checkout.ledger_entries e where e.kind = 'capture'
  union all
  select e.account_id, e.test_mode, e.transaction_id, e.kind, e.amount_cents, e.post_at is not null
  from refunds.ledger_entries e where e.amount_cents > 0
  union all
  select m.account_id, m.test_mode, m.id, 'suspense_move', m.amount_cents, false from refunds.suspense_moves m
), postings as (
  select p.account_id, p.test_mode, p.transaction_id as id, sum(p.amount_cents) as sum_cents,
    coalesce(sum(p.amount_cents) filter (where p.ledger_account = 'processor_balance'), 0) as balance_cents,
    coalesce(sum(p.amount_cents) filter (where p.ledger_account = 'suspense'), 0) as suspense_cents,
    coalesce(sum(p.amount_cents) filter (where p.amount_cents > 0), 0) as debit_cents
  from refunds.ledger_postings p group by 1, 2, 3
), transactions as (
  select t.*, coalesce(p.sum_cents, 0) as sum_cents, coalesce(p.balance_cents, 0) as balance_cents,
    coalesce(p.suspense_cents, 0) as suspense_cents, coalesce(p.debit_cents, 0) as debit_cents
  from refunds.ledger_transactions t
  left join postings p on (p.account_id, p.test_mode, p.id) = (t.account_id, t.test_mode, t.id)
), settled as (
  select account_id, test_mode, balance_transaction_id as id, sum(amount_cents) as amount_cents, sum(fee_cents) as fee_cents
  from refunds.ledger_transactions where processor_transaction_id is not null group by 1, 2, 3
), disputed as (
  select account_id, test_mode, source_id as id, sum(amount_cents) as amount_cents
  from refunds.ledger_transactions where kind = 'dispute' and source_id is not null group by 1, 2, 3
), summed as (
  select t.account_id, t.test_mode, g.grain, date_trunc(g.grain, t.occurred_at at time zone 'UTC')::date as begins_on, t.processor, t.processor_account,
    p.ledger_account, sum(p.amount_cents) as amount_cents
  from refunds.ledger_postings p
  join refunds.ledger_transactions t on (t.account_id, t.test_mode, t.id) = (p.account_id, p.test_mode, p.transaction_id)
  cross join (values ('day'), ('month')) g (grain) group by 1, 2, 3, 4, 5, 6, 7
), active as (
  select t.account_id, t.test_mode, (t.occurred_at at time zone 'UTC')::date as day, t.processor, t.processor_account,
    case when t.processor_transaction_id is null then 'journal' else 'balance' end as cause, coalesce(m.type, t.kind) as type,
    coalesce(m.reporting_category, '') as reporting_category, count(*) as transactions, sum(t.amount_cents) as amount_cents,
    coalesce(sum(t.fee_cents), 0) as fee_cents, coalesce(sum(t.net_cents), 0) as net_cents
  from refunds.ledger_transactions t
  left join refunds.processor_transactions m on (m.account_id, m.test_mode, m.processor, m.processor_account, m.id)
    = (t.account_id, t.test_mode, t.processor, t.processor_account, t.processor_transaction_id)
  group by 1, 2, 3, 4, 5, 6, 7, 8
), listed as (
  select account_id, test_mode, processor, processor_account, (created_at at time zone 'UTC')::date as day, count(*) as movements,
    sum(amount_cents) as amount_cents, sum(fee_cents) as fee_cents, sum(net_cents) as net_cents
  from refunds.processor_transactions where exists (select from refunds.checked_days) group by 1, 2, 3, 4, 5
), moves as (
  -- What operators moved out of suspense, by the transaction that put it there.
  select m.account_id, m.test_mode, m.moved_transaction_id as id, coalesce(sum(p.amount_cents), 0) as suspense_cents
  from refunds.suspense_moves m
  left join refunds.ledger_postings p on (p.account_id, p.test_mode, p.transaction_id, p.ledger_account) = (m.account_id, m.test_mode, m.id, 'suspense')
  group by 1, 2, 3
), found (state, fault, account_id, test_mode, id, detail) as (
  select case when e.is_waiting then 'unsettled' else 'wrong' end, 'entry_not_posted', e.account_id, e.test_mode, e.id, format('%s of %s', e.kind, e.amount_cents)
  from entries e left join transactions t on (t.account_id, t.test_mode, t.entry_id) = (e.account_id, e.test_mode, e.id)
  where t.id is null
  union all
  select 'wrong', 'entry_posted_differently', e.account_id, e.test_mode, e.id,
    format('%s of %s, posted as %s of %s with debits of %s', e.kind, e.amount_cents, t.kind, t.amount_cents, t.debit_cents)
  from entries e join transactions t on (t.account_id, t.test_mode, t.entry_id) = (e.account_id, e.test_mode, e.id)
  where (t.kind, t.amount_cents, t.debit_cents) <> (e.kind, e.amount_cents, e.amount_cents)
  union all
  select 'wrong', 'posted_without_entry', t.account_id, t.test_mode, t.id, format('entry %s, %s of %s', t.entry_id, t.kind, t.amount_cents)
  from transactions t left join entries e on (e.account_id, e.test_mode, e.id) = (t.account_id, t.test_mode, t.entry_id)
  where t.entry_id is not null and e.id is null
  union all
  select 'wrong', 'ledger_out_of_balance', t.account_id, t.test_mode, t.id, format('postings sum to %s', t.sum_cents)
  from transactions t where t.sum_cents <> 0
  union all
  select 'wrong', 'ledger_moves_another_net', t.account_id, t.test_mode, t.id, format('%s on the balance, net %s', t.balance_cents, coalesce(t.net_cents, 0))
  from transactions t where t.balance_cents <> coalesce(t.net_cents, 0)
  union all
  -- The sums that the reconciliation report reads.
  select 'wrong', 'total_differs_from_postings', account_id, test_mode, format('%s %s', begins_on, ledger_account),
    format('total of the %s %s, postings %s', grain, coalesce(k.amount_cents, 0), coalesce(s.amount_cents, 0))
  from refunds.ledger_totals k
  full join summed s using (account_id, test_mode, grain, begins_on, processor, processor_account, ledger_account)
  where coalesce(k.amount_cents, 0) <> coalesce(s.amount_cents, 0)
  union all
  select 'wrong', 'activity_differs_from_transactions', account_id, test_mode, format('%s %s', day, type),
    format('%s of %s, fee %s, net %s; transactions %s of %s, fee %s, net %s', k.transactions, k.amount_cents, k.fee_cents, k.net_cents,
      s.transactions, s.amount_cents, s.fee_cents, s.net_cents)
  from refunds.ledger_activity k
  full join active s using (account_id, test_mode, day, processor, processor_account, cause, type, reporting_category)
  where (k.transactions, k.amount_cents, k.fee_cents, k.net_cents) is distinct from (s.transactions, s.amount_cents, s.fee_cents, s.net_cents)
  union all
  -- What the processor listed.
  select case when m.match_at is null then 'wrong' else 'unsettled' end, 'movement_not_posted', m.account_id, m.test_mode, m.id, format('%s of %s', m.type, m.amount_cents)
  from refunds.processor_transactions m
  left join transactions t on (t.account_id, t.test_mode, t.processor, t.processor_account, t.processor_transaction_id)
    = (m.account_id, m.test_mode, m.processor, m.processor_account, m.id)
  where t.id is null
  union all
  select 'wrong', 'movement_posted_differently', m.account_id, m.test_mode, m.id,
    format('amount %s, fee %s, net %s, posted %s, %s, %s', m.amount_cents, m.fee_cents, m.net_cents, t.amount_cents, t.fee_cents, t.net_cents)
  from refunds.processor_transactions m
  join transactions t on (t.account_id, t.test_mode, t.processor, t.processor_account, t.processor_transaction_id)
    = (m.account_id, m.test_mode, m.processor, m.processor_account, m.id)
  where (m.amount_cents, m.fee_cents, m.net_cents) <> (t.amount_cents, t.fee_cents, t.net_cents)
  union all
  select 'wrong', 'posted_without_movement', t.account_id, t.test_mode, t.id, format('movement %s, net %s', t.processor_transaction_id, t.net_cents)
  from transactions t
  left join refunds.processor_transactions m on (m.account_id, m.test_mode, m.processor, m.processor_account, m.id)
    = (t.account_id, t.test_mode, t.processor, t.processor_account, t.processor_transaction_id)
  where t.processor_transaction_id is not null and m.id is null
  union all
  -- What the processor listed when `ledger check --processor` compared the day.
  select 'wrong', 'day_differs_from_processor', c.account_id, c.test_mode, format('%s %s', c.day, c.processor_account),
    format('%s movements of %s, fee %s, net %s; the processor listed %s of %s, fee %s, net %s', coalesce(s.movements, 0), coalesce(s.amount_cents, 0),
      coalesce(s.fee_cents, 0), coalesce(s.net_cents, 0), c.movements, c.amount_cents, c.fee_cents, c.net_cents)
  from refunds.checked_days c
  join refunds.ledger_feeds f on (f.account_id, f.test_mode, f.processor, f.processor_account) = (c.account_id, c.test_mode, c.processor, c.processor_account)
    and f.begins_at >= c.begins_at
  left join listed s on (s.account_id, s.test_mode, s.processor, s.processor_account, s.day) = (c.account_id, c.test_mode, c.processor, c.processor_account, c.day)
  where (c.movements, c.amount_cents, c.fee_cents, c.net_cents)
    <> (coalesce(s.movements, 0), coalesce(s.amount_cents, 0), coalesce(s.fee_cents, 0), coalesce(s.net_cents, 0))
  union all
  select 'unsettled', 'movement_in_suspense', t.account_id, t.test_mode, t.processor_transaction_id,
    format('%s of %s, %s in suspense', t.kind, t.amount_cents, t.suspense_cents + coalesce(m.suspense_cents, 0))
  from transactions t left join moves m using (account_id, test_mode, id)
  where t.processor_transaction_id is not null and t.suspense_cents + coalesce(m.suspense_cents, 0) <> 0
  union all
  select 'wrong', 'moved_beyond_suspense', t.account_id, t.test_mode, t.processor_transaction_id, format('%s in suspense, %s moved', t.suspense_cents, m.suspense_cents)
  from transactions t join moves m using (account_id, test_mode, id)
  where abs(m.suspense_cents) > abs(t.suspense_cents) or sign(m.suspense_cents) = sign(t.suspense_cents)
  union all
  select 'wrong', 'suspense_move_posted_elsewhere', m.account_id, m.test_mode, m.id, format('%s to %s', m.amount_cents, m.ledger_account)
  from refunds.suspense_moves m left join refunds.ledger_postings p
    on (p.account_id, p.test_mode, p.transaction_id, p.ledger_account) = (m.account_id, m.test_mode, m.id, m.ledger_account)
  where abs(p.amount_cents) is distinct from m.amount_cents
  union all
  -- What partners see.
  select 'wrong', 'balance_transaction_differs_from_its_movements', b.account_id, b.test_mode, b.id,
    format('settled %s with a fee of %s, movements %s with %s', b.settled_cents, b.fee_cents, coalesce(s.amount_cents, 0), coalesce(s.fee_cents, 0))
  from refunds.balance_transactions b left join settled s on (s.account_id, s.test_mode, s.id) = (b.account_id, b.test_mode, b.id)
  where b.settled_cents <> coalesce(s.amount_cents, 0) or b.settled_cents <> 0 and b.fee_cents <> coalesce(s.fee_cents, 0)
  union all
  -- A movement that the processor does not list as our record has it stays here.
  select 'unsettled', 'balance_transaction_pending', b.account_id, b.test_mode, b.id, format('%s of %s, settled %s', b.type, b.amount_cents, b.settled_cents)
  from refunds.balance_transactions b
  where b.settled_cents <> b.amount_cents and not (b.type in ('refund', 'refund_failure') and abs(b.settled_cents) > abs(b.amount_cents))
  union all
  -- One card's part of a refund that the movement of another card settled, too: that card's part stays pending.
  select 'wrong', 'refund_settled_beyond_its_amount', b.account_id, b.test_mode, b.id, format('%s of %s, settled %s', b.type, b.amount_cents, b.settled_cents)
  from refunds.balance_transactions b where b.type in ('refund', 'refund_failure') and abs(b.settled_cents) > abs(b.amount_cents)
  union all
  select 'wrong', 'capture_without_balance_transaction', t.account_id, t.test_mode, t.id, coalesce(t.balance_transaction_id, 'none')
  from transactions t left join refunds.balance_transactions b on (b.account_id, b.test_mode, b.id) = (t.account_id, t.test_mode, t.balance_transaction_id)
  where t.kind = 'capture' and (b.id is null or b.amount_cents <> t.amount_cents)
  union all
  -- What an earlier release leaves that runs beside this one: `ledger repair` gives each card its own.
  select 'wrong', 'refund_part_on_another_balance_transaction', t.account_id, t.test_mode, t.source_id,
    format('movement %s of %s is on %s, its card has %s', t.processor_transaction_id, t.amount_cents, t.balance_transaction_id, i.balance_transaction_id)
  from refunds.ledger_transactions t
  join refunds.refund_items i on (i.account_id, i.test_mode, i.refund_id, i.payment_intent_id)
    = (t.account_id, t.test_mode, t.source_id, t.payment_intent_id)
  where t.kind = 'refund' and t.processor_transaction_id is not null and t.amount_cents = - i.amount_cents
    and i.balance_transaction_id is not null and i.balance_transaction_id <> t.balance_transaction_id
  union all
  select 'wrong', 'captures_share_a_balance_transaction', t.account_id, t.test_mode, t.balance_transaction_id, format('%s captures', count(*))
  from refunds.ledger_transactions t where t.kind = 'capture' and t.balance_transaction_id is not null
  group by t.account_id, t.test_mode, t.balance_transaction_id having count(*) > 1
  union all
  select 'wrong', 'charge_names_another_balance_transaction', c.account_id, c.test_mode, c.id,
    format('charge %s, posted %s', coalesce(c.balance_transaction_id, 'none'), array_to_string(n.ids, ' '))
  from (select account_id, test_mode, payment_intent_id, array_agg(balance_transaction_id) as ids, count(*) as posted
    from refunds.ledger_transactions where kind = 'capture' group by 1, 2, 3) n
  join checkout.charges c on (c.account_id, c.test_mode, c.payment_intent_id) = (n.account_id, n.test_mode, n.payment_intent_id)
  where c.amount_captured_cents > 0 and coalesce(c.balance_transaction_id, 'fbtxn_' || split_part(c.id, '_', 2)) <> all (n.ids)
    and (n.account_id, n.test_mode, n.payment_intent_id, n.posted) in (select e.account_id, e.test_mode, e.payment_intent_id, count(*)
      from checkout.ledger_entries e where e.kind = 'capture' group by 1, 2, 3)
  union all
  -- Disputes: what was fetched with them, and what the balance shows.
  select 'wrong', 'dispute_differs_from_its_movements', d.account_id, d.test_mode, d.id, format('dispute %s, movements %s', m.amount_cents, coalesce(p.amount_cents, 0))
  from refunds.disputes d
  join (select account_id, test_mode, dispute_id, sum(amount_cents) as amount_cents from refunds.dispute_movements group by 1, 2, 3) m
    on (m.account_id, m.test_mode, m.dispute_id) = (d.account_id, d.test_mode, d.id)
  left join disputed p on (p.account_id, p.test_mode, p.id) = (d.account_id, d.test_mode, d.id)
  where m.amount_cents <> coalesce(p.amount_cents, 0)
    and not exists (select from refunds.dispute_movements w
      left join refunds.ledger_transactions t on (t.account_id, t.test_mode, t.processor, t.processor_account, t.processor_transaction_id)
        = (d.account_id, d.test_mode, d.processor, d.processor_account, w.processor_balance_transaction_id)
      where (w.account_id, w.test_mode, w.dispute_id) = (d.account_id, d.test_mode, d.id) and t.id is null)
)
select state, fault, account_id, test_mode, id, detail from found order by state desc, fault, id limit 1000
