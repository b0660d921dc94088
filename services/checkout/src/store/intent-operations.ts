import { type Db, type Scope, scoped, type Tx } from '@eligo/postgres';
import { type Cents, centsFromInt64 } from '@eligo/values';
import { wakeSweepAfterCommit } from './charge-work.ts';

/** A pending capture or void of an authorized intent at the processor; retried until it is done. */
export interface IntentOperation {
  readonly id: string;
  readonly paymentIntentId: string;
  readonly attemptId: string;
  readonly processorIntentId: string;
  readonly kind: 'capture' | 'cancel';
  readonly amountCents: Cents;
  readonly epoch: number;
  readonly checks: number;
  readonly actingAt: Date;
}

interface OperationRow {
  id: string;
  payment_intent_id: string;
  attempt_id: string;
  processor_intent_id: string;
  kind: 'capture' | 'cancel';
  amount_cents: bigint;
  epoch: number;
  checks: number;
  acting_at: Date;
}

const columns = 'id, payment_intent_id, attempt_id, processor_intent_id, kind, amount_cents, epoch, checks, acting_at';

function fromRow(row: OperationRow): IntentOperation {
  return {
    id: row.id,
    paymentIntentId: row.payment_intent_id,
    attemptId: row.attempt_id,
    processorIntentId: row.processor_intent_id,
    kind: row.kind,
    amountCents: centsFromInt64(row.amount_cents),
    epoch: row.epoch,
    checks: row.checks,
    actingAt: row.acting_at,
  };
}

const insert = scoped<OperationRow>(
  'checkout.intent_operation_insert',
  `insert into checkout.intent_operations (account_id, test_mode, id, payment_intent_id, attempt_id, processor_intent_id, kind,
     amount_cents, status, acting_at, lease_until)
   select a.account_id, a.test_mode, $4, a.payment_intent_id, a.id, a.processor_intent_id, $5, a.amount_cents, 'pending', $6,
     clock_timestamp() + $7 * interval '1 millisecond'
   from checkout.charge_attempts a
   where a.account_id = $1 and a.test_mode = $2 and a.id = $3 and a.status = 'succeeded' and a.capture_method = 'manual'
   on conflict do nothing
   returning ${columns}`,
);

/** Decides to capture or void a hold, under a lease, or with `leaseMs` 0 for the sweep; undefined if it was decided before, or there is no hold. */
export async function insertOperation(
  tx: Tx,
  scope: Scope,
  operation: { attemptId: string; id: string; kind: 'capture' | 'cancel'; at: Date; leaseMs: number },
): Promise<IntentOperation | undefined> {
  if (operation.leaseMs === 0) wakeSweepAfterCommit(tx);
  const row = await tx.row(insert, scope, [
    operation.attemptId,
    operation.id,
    operation.kind,
    operation.at,
    operation.leaseMs,
  ]);
  return row && fromRow(row);
}

const decided = scoped<{ kind: 'capture' | 'cancel' }>(
  'checkout.intent_operation_decided',
  `select kind from checkout.intent_operations
   where account_id = $1 and test_mode = $2 and payment_intent_id = $3 and status in ('pending', 'done')`,
);

/** What was decided about a hold, or undefined. */
export async function findDecision(
  db: Db,
  scope: Scope,
  paymentIntentId: string,
): Promise<'capture' | 'cancel' | undefined> {
  return (await db.row(decided, scope, [paymentIntentId]))?.kind;
}

const claim = scoped<OperationRow>(
  'checkout.intent_operation_claim',
  `update checkout.intent_operations set epoch = epoch + 1, lease_until = clock_timestamp() + $4 * interval '1 millisecond'
   where account_id = $1 and test_mode = $2 and id = $3 and status = 'pending' and lease_until < clock_timestamp()
   returning ${columns}`,
);

const claimOfIntent = scoped<OperationRow>(
  'checkout.intent_operation_claim_of_intent',
  `update checkout.intent_operations set epoch = epoch + 1, lease_until = clock_timestamp() + $4 * interval '1 millisecond'
   where account_id = $1 and test_mode = $2 and payment_intent_id = $3 and status = 'pending' and lease_until < clock_timestamp()
   returning ${columns}`,
);

/** The same for what is to be done to an intent; undefined when that is nothing, or another works on it. */
export async function claimOperationOfIntent(
  tx: Tx,
  scope: Scope,
  paymentIntentId: string,
  leaseMs: number,
): Promise<IntentOperation | undefined> {
  const row = await tx.row(claimOfIntent, scope, [paymentIntentId, leaseMs]);
  return row && fromRow(row);
}

export async function claimOperation(
  tx: Tx,
  scope: Scope,
  id: string,
  leaseMs: number,
): Promise<IntentOperation | undefined> {
  const row = await tx.row(claim, scope, [id, leaseMs]);
  return row && fromRow(row);
}

const settle = scoped(
  'checkout.intent_operation_settle',
  `update checkout.intent_operations set status = $4, failure_code = $5
   where account_id = $1 and test_mode = $2 and id = $3 and status = 'pending'`,
);

/** Records what the processor said; false when it was recorded before. */
export async function settleOperation(
  tx: Tx,
  scope: Scope,
  id: string,
  status: 'done' | 'failed',
  failureCode: string | null,
): Promise<boolean> {
  return (await tx.execute(settle, scope, [id, status, failureCode])) === 1;
}

const postpone = scoped(
  'checkout.intent_operation_postpone',
  `update checkout.intent_operations set lease_until = now(), checks = checks + $6,
     next_check_at = now() + $5 * interval '1 millisecond'
   where account_id = $1 and test_mode = $2 and id = $3 and epoch = $4 and status = 'pending'`,
);

/** Gives the lease back and says when to look again; `asked` counts the check, and makes the next one's key new. */
export async function postponeOperation(
  tx: Tx,
  scope: Scope,
  operation: Pick<IntentOperation, 'id' | 'epoch'>,
  { delayMs, asked }: { readonly delayMs: number; readonly asked: boolean },
): Promise<void> {
  wakeSweepAfterCommit(tx, delayMs);
  await tx.execute(postpone, scope, [operation.id, operation.epoch, delayMs, asked ? 1 : 0]);
}
