import { type Database, type Tx, unscoped, withTx } from '@eligo/postgres';

/** What a repair of the ledger changed. */
export interface LedgerRepair {
  /** Refunds whose movements were on the balance transaction of another card. */
  readonly refunds: number;
  /** Captures of several cards that shared one balance transaction. */
  readonly captures: number;
}

/**
 * Gives each movement of a refund, and each capture, the balance transaction of its own card, where an earlier release that ran beside this one posted it on
 * another's, and recomputes what those balance transactions sum up. Amounts and postings stay as they are. Each refund and each capture is a transaction
 * of its own: a run that was interrupted is continued by the next. The caller's role is not bound by row-level security.
 */
export async function repairLedger(database: Database): Promise<LedgerRepair> {
  const refunds = await repairEach(database, misplacedRefunds, repairRefund);
  const captures = await repairEach(database, sharedCaptures, repairCapture);
  return { refunds, captures };
}

/** Has each charge name a balance transaction that the ledger posted for it. Answers how many named another one. */
export async function renameCharges(database: Database): Promise<number> {
  return (await database.rows(renameChargesOfLedger, null)).length;
}

interface Group {
  readonly account_id: string;
  readonly test_mode: boolean;
  /** A refund, or the balance transaction that captures share. */
  readonly id: string;
}

async function repairEach(
  database: Database,
  find: typeof misplacedRefunds,
  repair: (tx: Tx, group: readonly [string, boolean, string]) => Promise<void>,
): Promise<number> {
  const repaired = new Set<string>();
  for (;;) {
    const groups = await database.rows(find, null);
    for (const { account_id, test_mode, id } of groups) {
      const name = `${account_id} ${test_mode} ${id}`;
      if (repaired.has(name))
        throw new Error(`The repair of ${id} changed nothing; report this with its ledger transactions`);
      repaired.add(name);
      await withTx(database, null, (tx) => repair(tx, [account_id, test_mode, id]));
    }
    if (groups.length < page) return repaired.size;
  }
}

async function repairRefund(tx: Tx, refund: readonly [string, boolean, string]): Promise<void> {
  // In the order in which movements settle them.
  await tx.rows(lockOfRefund, null, refund);
  const moved = [...(await tx.rows(moveParts, null, refund)), ...(await tx.rows(moveFailures, null, refund))];
  await settleAnew(tx, refund, moved);
}

async function repairCapture(tx: Tx, shared: readonly [string, boolean, string]): Promise<void> {
  await tx.rows(lockOne, null, shared);
  await tx.rows(insertOfCaptures, null, shared);
  await settleAnew(tx, shared, await tx.rows(moveCaptures, null, shared));
}

interface Moved {
  readonly from_id: string;
  readonly to_id: string;
  readonly occurred_at: Date;
}

async function settleAnew(tx: Tx, [accountId, testMode]: readonly [string, boolean, string], moved: readonly Moved[]) {
  if (moved.length === 0) return;
  const ids = [...new Set(moved.flatMap(({ from_id, to_id }) => [from_id, to_id]))].sort();
  await tx.execute(settle, null, [accountId, testMode, ids]);
  // What a payout took is noted by the balance transactions of its movements.
  const since = new Date(Math.min(...moved.map(({ occurred_at }) => occurred_at.getTime())));
  await tx.execute(noteAgain, null, [accountId, testMode, ids, since]);
}

/** Some tens of milliseconds each. */
const page = 100;

const key = 't.account_id = $1 and t.test_mode = $2';
const isMisplaced = `t.kind = 'refund' and t.processor_transaction_id is not null and t.amount_cents = - i.amount_cents
  and i.balance_transaction_id is not null and i.balance_transaction_id <> t.balance_transaction_id`;
// Failures of equal parts: the first movement keeps the balance transaction, and each other one gets one that nothing has settled.
const surplusFailures = `select t.account_id, t.test_mode, t.source_id, t.id, t.amount_cents, t.occurred_at, t.balance_transaction_id,
    row_number() over (partition by t.account_id, t.test_mode, t.balance_transaction_id order by t.id) as place
  from refunds.ledger_transactions t
  join refunds.balance_transactions b on b.account_id = t.account_id and b.test_mode = t.test_mode and b.id = t.balance_transaction_id
  where b.type = 'refund_failure' and b.settled_cents > b.amount_cents and t.amount_cents = b.amount_cents`;
const unsettledFailures = `select f.account_id, f.test_mode, f.source_id, f.amount_cents, f.id,
    row_number() over (partition by f.account_id, f.test_mode, f.source_id, f.amount_cents order by f.id) as place
  from refunds.balance_transactions f where f.type = 'refund_failure' and f.settled_cents = 0`;
// Several balance transactions of one source and amount may have too many movements. One numbering covers the surplus of all of them.
const failures = `select s.account_id, s.test_mode, s.source_id, s.id, s.occurred_at, s.balance_transaction_id as from_id, f.id as to_id
  from (select *, row_number() over (partition by account_id, test_mode, source_id, amount_cents order by id) as number
          from (${surplusFailures}) p where place > 1) s
  join (${unsettledFailures}) f on (f.account_id, f.test_mode, f.source_id, f.amount_cents, f.place)
    = (s.account_id, s.test_mode, s.source_id, s.amount_cents, s.number)`;

const misplacedRefunds = unscoped<Group>(
  'repair.find_refunds',
  `select t.account_id, t.test_mode, t.source_id as id from refunds.ledger_transactions t
     join refunds.refund_items i on (i.account_id, i.test_mode, i.refund_id, i.payment_intent_id)
       = (t.account_id, t.test_mode, t.source_id, t.payment_intent_id)
    where ${isMisplaced}
   union select account_id, test_mode, source_id from (${failures}) f limit ${page}`,
);
const lockOfRefund = unscoped<{ id: string }>(
  'repair.lock_refund',
  `select id from refunds.balance_transactions t where ${key} and t.source_id = $3 order by id for no key update`,
);
const moveParts = unscoped<Moved>(
  'repair.move_parts',
  `with found as (
     select t.id, t.balance_transaction_id as from_id, i.balance_transaction_id as to_id from refunds.ledger_transactions t
       join refunds.refund_items i on i.account_id = $1 and i.test_mode = $2 and i.refund_id = $3 and i.payment_intent_id = t.payment_intent_id
      where ${key} and t.source_id = $3 and ${isMisplaced})
   update refunds.ledger_transactions t set balance_transaction_id = found.to_id from found where ${key} and t.id = found.id
   returning found.from_id, found.to_id, t.occurred_at`,
);
const moveFailures = unscoped<Moved>(
  'repair.move_failures',
  `update refunds.ledger_transactions t set balance_transaction_id = f.to_id from (${failures}) f
    where ${key} and t.id = f.id and f.account_id = $1 and f.test_mode = $2 and f.source_id = $3
   returning f.from_id, f.to_id, t.occurred_at`,
);
const sharedCaptures = unscoped<Group>(
  'repair.find_captures',
  `select t.account_id, t.test_mode, t.balance_transaction_id as id from refunds.ledger_transactions t
    where t.kind = 'capture' and t.balance_transaction_id is not null group by 1, 2, 3 having count(*) > 1 limit ${page}`,
);
const lockOne = unscoped<{ id: string }>(
  'repair.lock_capture',
  `select id from refunds.balance_transactions t where ${key} and t.id = $3 for no key update`,
);
// The capture that was posted first made the balance transaction, and keeps it. The others get the one that their journal entry gives, as a charge names it.
const others = `select t.*, 'fbtxn_' || split_part(t.entry_id, '_', 2) as to_id from refunds.ledger_transactions t
  where ${key} and t.kind = 'capture' and t.balance_transaction_id = $3
    and t.id <> (select k.id from refunds.ledger_transactions k
      join refunds.balance_transactions b on b.account_id = $1 and b.test_mode = $2 and b.id = $3
      where k.account_id = $1 and k.test_mode = $2 and k.kind = 'capture' and k.balance_transaction_id = $3
      order by k.amount_cents <> b.amount_cents, k.id limit 1)`;
const insertOfCaptures = unscoped<{ id: string }>(
  'repair.insert_of_captures',
  `insert into refunds.balance_transactions (account_id, test_mode, id, type, amount_cents, status, available_on, source_id, checkout_session_id,
     reporting_category, created_at)
   select o.account_id, o.test_mode, o.to_id, b.type, o.amount_cents, 'pending', o.occurred_at, o.source_id, b.checkout_session_id,
          b.reporting_category, o.occurred_at
     from (${others}) o join refunds.balance_transactions b on b.account_id = $1 and b.test_mode = $2 and b.id = $3
   on conflict do nothing returning id`,
);
// A capture goes with the movements of its card.
const moveCaptures = unscoped<Moved>(
  'repair.move_captures',
  `with other as (${others})
   update refunds.ledger_transactions t set balance_transaction_id = other.to_id from other
    where ${key} and t.balance_transaction_id = $3 and t.payment_intent_id = other.payment_intent_id and t.kind in ('capture', 'charge')
   returning $3::text as from_id, other.to_id, t.occurred_at`,
);
const settle = unscoped<never>(
  'repair.settle',
  `update refunds.balance_transactions b
      set settled_cents = coalesce(s.amount, 0), fee_cents = coalesce(s.fee, 0), processor = s.processor, processor_account = s.account,
          processor_transaction_id = s.movement, status = case when s.id is null then b.status else 'available' end,
          available_on = coalesce(s.available_on, b.available_on), payout_id = null
     from unnest($3::text[]) as n (id)
     left join (
       select t.balance_transaction_id as id, sum(t.amount_cents)::bigint as amount, sum(t.fee_cents)::bigint as fee,
              (array_agg(t.processor))[1] as processor, (array_agg(t.processor_account))[1] as account,
              min(t.processor_transaction_id) as movement, max(m.available_on) as available_on
         from refunds.ledger_transactions t
         left join refunds.processor_transactions m on (m.account_id, m.test_mode, m.processor, m.processor_account, m.id)
           = (t.account_id, t.test_mode, t.processor, t.processor_account, t.processor_transaction_id)
        where ${key} and t.processor_transaction_id is not null and t.balance_transaction_id = any($3::text[]) group by 1) s on s.id = n.id
    where b.account_id = $1 and b.test_mode = $2 and b.id = n.id`,
);
const noteAgain = unscoped<never>(
  'repair.note_again',
  `update refunds.payouts p set is_noted = false, noted_to = null, looks = 0, next_look_at = clock_timestamp()
    where p.account_id = $1 and p.test_mode = $2 and p.created_at >= date_trunc('second', $4::timestamptz)
      and (p.processor, p.processor_account) in (select t.processor, t.processor_account from refunds.ledger_transactions t
        where ${key} and t.balance_transaction_id = any($3::text[]))`,
);
// A charge with a capture that is not told yet is left to its next run. A charge without a name shows the one that its own identifier gives.
const renameChargesOfLedger = unscoped<{ id: string }>(
  'repair.rename_charges',
  `update checkout.charges c set balance_transaction_id = n.first_id
     from (select t.account_id, t.test_mode, t.payment_intent_id, (array_agg(t.balance_transaction_id order by t.entry_id))[1] as first_id,
                  array_agg(t.balance_transaction_id) as ids, count(*) as posted
             from refunds.ledger_transactions t where t.kind = 'capture' group by 1, 2, 3) n
    where c.account_id = n.account_id and c.test_mode = n.test_mode and c.payment_intent_id = n.payment_intent_id and c.amount_captured_cents > 0
      and coalesce(c.balance_transaction_id, 'fbtxn_' || split_part(c.id, '_', 2)) <> all (n.ids)
      and (n.account_id, n.test_mode, n.payment_intent_id, n.posted) in (select e.account_id, e.test_mode, e.payment_intent_id, count(*)
        from checkout.ledger_entries e where e.kind = 'capture' group by 1, 2, 3)
   returning c.id`,
);
