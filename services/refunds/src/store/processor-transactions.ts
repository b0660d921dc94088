import { type Db, leaseFromNow, type Scope, scoped, type Tx, unscoped } from '@eligo/postgres';
import { type TurnPlace, type TurnRow, type Turns, turnsOf, wakeJobAfterCommit } from '@eligo/service';
import { type Cents, centsFromInt64, type ProcessorAccount, type ProcessorName } from '@eligo/values';

/** The job that posts what the processor moved. */
export const postMovementsJob = 'post-movements';

/** A movement on the balance as the processor listed it. */
export interface ListedMovement {
  readonly processorTransactionId: string;
  readonly type: string;
  readonly reportingCategory: string;
  readonly amountCents: Cents;
  readonly feeCents: Cents;
  readonly applicationFeeCents: Cents;
  readonly netCents: Cents;
  readonly availableOn: Date;
  readonly sourceId: string | null;
  readonly createdAt: Date;
}

/** One that is not posted. */
export interface UnpostedMovement extends ListedMovement {
  readonly processorAccount: ProcessorAccount;
  /** For how long it has been known here. */
  readonly ageMs: number;
}

/** Stores movements, each once; answers how many were new. */
export async function storeListed(
  tx: Tx,
  scope: Scope,
  { processor, account }: ProcessorAccount,
  movements: readonly ListedMovement[],
): Promise<number> {
  if (movements.length === 0) return 0;
  const stored = await tx.execute(insert, scope, [
    processor,
    account,
    movements.map(({ processorTransactionId }) => processorTransactionId),
    movements.map(({ type }) => type),
    movements.map(({ reportingCategory }) => reportingCategory),
    movements.map(({ amountCents }) => amountCents),
    movements.map(({ feeCents }) => feeCents),
    movements.map(({ applicationFeeCents }) => applicationFeeCents),
    movements.map(({ netCents }) => netCents),
    movements.map(({ availableOn }) => availableOn),
    movements.map(({ sourceId }) => sourceId),
    movements.map(({ createdAt }) => createdAt),
  ]);
  if (stored > 0) wakeJobAfterCommit(tx, postMovementsJob);
  return stored;
}

/** The accounts after a place that have movements to post, at most `most`. */
export async function dueMovements(db: Db, after: TurnPlace, most: number): Promise<Turns> {
  return turnsOf(await db.rows(due, null, [after.accountId, after.testMode, most]), most);
}

/** How long until a movement is to be posted, negative when one is; undefined when none waits. */
export async function nextMovementInMs(db: Db): Promise<number | undefined> {
  return (await db.row(next, null))?.due_in_ms ?? undefined;
}

/** Due movements of an account, locked until the transaction ends; another process that posts at the same time passes them over. */
export async function lockUnpostedMovements(tx: Tx, scope: Scope, most: number): Promise<UnpostedMovement[]> {
  const rows = await tx.rows(unposted, scope, [most]);
  return rows.map((row) => ({
    processorAccount: { processor: row.processor, account: row.processor_account },
    processorTransactionId: row.id,
    type: row.type,
    reportingCategory: row.reporting_category,
    amountCents: centsFromInt64(row.amount_cents),
    feeCents: centsFromInt64(row.fee_cents),
    applicationFeeCents: centsFromInt64(row.application_fee_cents),
    netCents: centsFromInt64(row.net_cents),
    availableOn: row.available_on,
    sourceId: row.source_id,
    createdAt: row.created_at,
    ageMs: row.age_ms,
  }));
}

/** Notes that movements are posted. */
export async function markMovementsPosted(tx: Tx, scope: Scope, movements: readonly UnpostedMovement[]): Promise<void> {
  if (movements.length > 0) await tx.execute(posted, scope, keysOf(movements));
}

/** Puts movements off whose record is not here yet: the longer they have waited, the longer. */
export async function putOffMovements(tx: Tx, scope: Scope, movements: readonly UnpostedMovement[]): Promise<void> {
  if (movements.length === 0) return;
  const pauseMs = movements.map(({ ageMs }) => Math.round(Math.min(Math.max(ageMs / 4, 1_000), 600_000)));
  wakeJobAfterCommit(tx, postMovementsJob, Math.min(...pauseMs));
  await tx.execute(putOff, scope, [...keysOf(movements), pauseMs]);
}

function keysOf(movements: readonly UnpostedMovement[]): unknown[] {
  return [
    movements.map(({ processorAccount }) => processorAccount.processor),
    movements.map(({ processorAccount }) => processorAccount.account),
    movements.map(({ processorTransactionId }) => processorTransactionId),
  ];
}

interface MovementRow {
  processor: ProcessorName;
  processor_account: string;
  id: string;
  type: string;
  reporting_category: string;
  amount_cents: bigint;
  fee_cents: bigint;
  application_fee_cents: bigint;
  net_cents: bigint;
  available_on: Date;
  source_id: string | null;
  created_at: Date;
  age_ms: number;
}

const insert = scoped<never>(
  'processor_transactions.insert',
  `insert into refunds.processor_transactions (account_id, test_mode, processor, processor_account, id, type, reporting_category, amount_cents,
     fee_cents, application_fee_cents, net_cents, available_on, source_id, created_at)
   select $1, $2, $3, $4, m.* from unnest($5::text[], $6::text[], $7::text[], $8::bigint[], $9::bigint[], $10::bigint[], $11::bigint[],
     $12::timestamptz[], $13::text[], $14::timestamptz[]) as m
   on conflict (account_id, test_mode, processor, processor_account, id) do nothing`,
);
const due = unscoped<TurnRow>(
  'processor_transactions.turns',
  'select account_id, test_mode, is_due from refunds.processor_transaction_turns($1, $2, $3)',
);
const next = unscoped<{ due_in_ms: number | null }>(
  'processor_transactions.next',
  'select extract(epoch from refunds.next_processor_transaction() - clock_timestamp())::float8 * 1000 as due_in_ms',
);
const unposted = scoped<MovementRow>(
  'processor_transactions.lock_unposted',
  `select processor, processor_account, id, type, reporting_category, amount_cents, fee_cents, application_fee_cents, net_cents, available_on,
          source_id, created_at, extract(epoch from clock_timestamp() - read_at)::float8 * 1000 as age_ms
     from refunds.processor_transactions
    where account_id = $1 and test_mode = $2 and match_at <= now()
    order by match_at limit $3 for no key update skip locked`,
);
const these = `t.account_id = $1 and t.test_mode = $2 and t.processor = k.processor and t.processor_account = k.account and t.id = k.id`;
const posted = scoped<never>(
  'processor_transactions.mark_posted',
  `update refunds.processor_transactions t set match_at = null
     from unnest($3::refunds.processor[], $4::text[], $5::text[]) as k (processor, account, id)
    where ${these}`,
);
const putOff = scoped<never>(
  'processor_transactions.put_off',
  `update refunds.processor_transactions t set match_at = ${leaseFromNow('k.pause_ms')}
     from unnest($3::refunds.processor[], $4::text[], $5::text[], $6::bigint[]) as k (processor, account, id, pause_ms)
    where ${these}`,
);
