import { type Db, type Scope, scoped } from '@eligo/postgres';
import { centsFromInt64, type ProcessorName } from '@eligo/values';
import type { DayActivity, DayTotal, NamedMovement } from '../domain/reconciliation.ts';

/** What was posted before a day: whole months, then the days of its own month. */
export async function balancesBefore(db: Db, scope: Scope, day: string): Promise<DayTotal[]> {
  const rows = await db.rows(before, scope, [day]);
  return rows.map(totalOfRow);
}

/** The totals and the activity of some days, by day, from one snapshot: so what they say of a day agrees. */
export async function sumsOfDays(
  db: Db,
  scope: Scope,
  from: string,
  to: string,
): Promise<Map<string, { totals: DayTotal[]; activity: DayActivity[] }>> {
  const days = new Map<string, { totals: DayTotal[]; activity: DayActivity[] }>();
  for (const row of await db.rows(sums, scope, [from, to])) {
    const day = days.get(row.day) ?? { totals: [], activity: [] };
    days.set(row.day, day);
    if (row.cause === 'total') day.totals.push(totalOfRow({ ...row, ledger_account: row.type }));
    else {
      day.activity.push({
        cause: row.cause,
        processorAccount: { processor: row.processor, account: row.processor_account },
        type: row.type,
        reportingCategory: row.reporting_category,
        transactions: Number(row.transactions),
        amountCents: centsFromInt64(row.amount_cents),
        feeCents: centsFromInt64(row.fee_cents),
        netCents: centsFromInt64(row.net_cents),
      });
    }
  }
  return days;
}

/** The payouts of a day, and what came back of them, in the order of their time. */
export function payoutsOfDay(db: Db, scope: Scope, day: string): AsyncGenerator<NamedMovement> {
  return movementsOfDay(db, scope, payouts, day);
}

/** The movements of a day that are in suspense, and what operators moved out of it that day, in the order of their time. */
export function suspenseOfDay(db: Db, scope: Scope, day: string): AsyncGenerator<NamedMovement> {
  return movementsOfDay(db, scope, suspense, day);
}

// Rows that are held at once, however many a day has. A literal in the statements: the planner takes a parameter for a tenth of the table.
const pageRows = 200;

async function* movementsOfDay(
  db: Db,
  scope: Scope,
  statement: typeof payouts,
  day: string,
): AsyncGenerator<NamedMovement> {
  const dayStart = new Date(day);
  let last = { at: dayStart, id: '' };
  for (;;) {
    const rows = await db.rows(statement, scope, [dayStart, last.at, last.id]);
    for (const row of rows) yield movementOfRow(row);
    const end = rows.at(-1);
    if (end === undefined || rows.length < pageRows) return;
    last = { at: end.occurred_at, id: end.id };
  }
}

function totalOfRow(row: TotalRow): DayTotal {
  return {
    processorAccount: { processor: row.processor, account: row.processor_account },
    ledgerAccount: row.ledger_account,
    amountCents: centsFromInt64(row.amount_cents),
  };
}

function movementOfRow(row: MovementRow): NamedMovement {
  return {
    processor: row.processor,
    processorAccount: row.processor_account,
    processorTransactionId: row.processor_transaction_id,
    balanceTransactionId: row.balance_transaction_id,
    type: row.type,
    payoutId: row.payout_id,
    payoutStatus: row.payout_status,
    amountCents: centsFromInt64(row.amount_cents),
    feeCents: centsFromInt64(row.fee_cents),
    netCents: centsFromInt64(row.net_cents),
    suspenseCents: centsFromInt64(row.suspense_cents),
    createdAt: row.occurred_at,
  };
}

interface TotalRow {
  processor: ProcessorName;
  processor_account: string;
  ledger_account: string;
  amount_cents: bigint;
}

interface SumRow {
  day: string;
  cause: 'total' | 'journal' | 'balance';
  processor: ProcessorName;
  processor_account: string;
  type: string;
  reporting_category: string;
  transactions: bigint;
  amount_cents: bigint;
  fee_cents: bigint;
  net_cents: bigint;
}

interface MovementRow {
  id: string;
  processor: ProcessorName;
  processor_account: string;
  processor_transaction_id: string;
  balance_transaction_id: string;
  type: string;
  payout_id: string | null;
  payout_status: string | null;
  amount_cents: bigint;
  fee_cents: bigint;
  net_cents: bigint;
  suspense_cents: bigint;
  occurred_at: Date;
}

const before = scoped<TotalRow>(
  'reconciliation.before',
  `select processor, processor_account, ledger_account, sum(amount_cents)::bigint as amount_cents from refunds.ledger_totals
    where account_id = $1 and test_mode = $2
      and (grain = 'month' and begins_on < date_trunc('month', $3::date::timestamp)::date
        or grain = 'day' and begins_on >= date_trunc('month', $3::date::timestamp)::date and begins_on < $3::date)
    group by 1, 2, 3`,
);
const sums = scoped<SumRow>(
  'reconciliation.days',
  `select begins_on::text as day, 'total' as cause, processor, processor_account, ledger_account as type, '' as reporting_category,
          0::bigint as transactions, amount_cents, 0::bigint as fee_cents, 0::bigint as net_cents
     from refunds.ledger_totals where account_id = $1 and test_mode = $2 and grain = 'day' and begins_on between $3::date and $4::date
   union all
   select day::text, cause, processor, processor_account, type, reporting_category, transactions, amount_cents, fee_cents, net_cents
     from refunds.ledger_activity where account_id = $1 and test_mode = $2 and day between $3::date and $4::date
    order by 1, 2, 3, 4, 5, 6`,
);
const columns = `t.id, t.processor, t.processor_account, t.processor_transaction_id, t.balance_transaction_id, t.occurred_at,
  t.amount_cents, t.fee_cents, t.net_cents, m.type`;
const movement = `join refunds.processor_transactions m on m.account_id = $1 and m.test_mode = $2 and m.processor = t.processor
  and m.processor_account = t.processor_account and m.id = t.processor_transaction_id`;
const ofDay = `t.account_id = $1 and t.test_mode = $2 and t.occurred_at < $3::timestamptz + interval '24 hours' and (t.occurred_at, t.id) > ($4::timestamptz, $5)`;
const payouts = scoped<MovementRow>(
  'reconciliation.payouts',
  `select ${columns}, p.id as payout_id, p.status as payout_status, 0::bigint as suspense_cents
     from (select * from refunds.ledger_transactions t where ${ofDay} and t.kind = 'payout' order by t.occurred_at, t.id limit ${pageRows}) t ${movement}
     left join refunds.payouts p on p.account_id = $1 and p.test_mode = $2 and p.id = t.source_id
    order by t.occurred_at, t.id`,
);
// Each branch stops after a page of its own. A limit of the whole alone reads all of a day for each page: 120,000 pages of the table where 1,200 do.
const suspense = scoped<MovementRow>(
  'reconciliation.suspense',
  `select * from ((select ${columns}, null as payout_id, null as payout_status, - p.amount_cents as suspense_cents
     from refunds.ledger_transactions t ${movement}
     join refunds.ledger_postings p on p.account_id = $1 and p.test_mode = $2 and p.transaction_id = t.id and p.ledger_account = 'suspense'
    where ${ofDay} and t.processor_transaction_id is not null
      and (t.kind = 'other' or t.kind in ('charge', 'refund') and t.source_id is null or t.net_cents <> t.amount_cents - t.fee_cents)
    order by t.occurred_at, t.id limit ${pageRows})
   union all
   (select v.id, t.processor, t.processor_account, t.processor_transaction_id, t.balance_transaction_id, v.created_at,
          0::bigint, 0::bigint, 0::bigint, 'suspense_move', null, null, - p.amount_cents
     from refunds.suspense_moves v
     join refunds.ledger_transactions t on t.account_id = $1 and t.test_mode = $2 and t.id = v.moved_transaction_id
     join refunds.ledger_postings p on p.account_id = $1 and p.test_mode = $2 and p.transaction_id = v.id and p.ledger_account = 'suspense'
    where v.account_id = $1 and v.test_mode = $2 and v.created_at < $3::timestamptz + interval '24 hours' and (v.created_at, v.id) > ($4::timestamptz, $5)
    order by v.created_at, v.id limit ${pageRows})) named
    order by occurred_at, id limit ${pageRows}`,
);
