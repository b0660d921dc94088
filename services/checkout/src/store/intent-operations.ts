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
  /** The capture that this is part of; null for a void, and for a capture that the release before this one began. */
  readonly captureId: string | null;
  /** Whether nothing of the hold remains afterwards. */
  readonly endsHold: boolean;
  /** What had been captured of the intent before. */
  readonly receivedBeforeCents: Cents;
  /** Which of its keys it uses at the processor. */
  readonly tries: number;
  readonly epoch: number;
  readonly checks: number;
  readonly actingAt: Date;
}

/** A row of `operationColumns`. */
export interface OperationRow {
  id: string;
  payment_intent_id: string;
  attempt_id: string;
  processor_intent_id: string;
  kind: 'capture' | 'cancel';
  amount_cents: bigint;
  capture_id: string | null;
  ends_hold: boolean;
  received_before_cents: bigint;
  tries: number;
  epoch: number;
  checks: number;
  acting_at: Date;
}

/** The columns of an operation, for every statement that returns whole ones. */
export const operationColumns =
  'id, payment_intent_id, attempt_id, processor_intent_id, kind, amount_cents, capture_id, ends_hold, received_before_cents, tries, epoch, checks, acting_at';

export function operationOfRow(row: OperationRow): IntentOperation {
  return {
    id: row.id,
    paymentIntentId: row.payment_intent_id,
    attemptId: row.attempt_id,
    processorIntentId: row.processor_intent_id,
    kind: row.kind,
    amountCents: centsFromInt64(row.amount_cents),
    captureId: row.capture_id,
    endsHold: row.ends_hold,
    receivedBeforeCents: centsFromInt64(row.received_before_cents),
    tries: row.tries,
    epoch: row.epoch,
    checks: row.checks,
    actingAt: row.acting_at,
  };
}

const insert = scoped<OperationRow>(
  'checkout.intent_operation_insert',
  `insert into checkout.intent_operations (account_id, test_mode, id, payment_intent_id, attempt_id, processor_intent_id, kind,
     amount_cents, status, acting_at, lease_until, received_before_cents)
   select a.account_id, a.test_mode, $4, a.payment_intent_id, a.id, a.processor_intent_id, 'cancel', a.amount_cents, 'pending', $5,
     clock_timestamp() + $6 * interval '1 millisecond', i.amount_received_cents
   from checkout.charge_attempts a
   join checkout.payment_intents i on i.account_id = $1 and i.test_mode = $2 and i.id = a.payment_intent_id
   where a.account_id = $1 and a.test_mode = $2 and a.id = $3 and a.status = 'succeeded' and a.capture_method = 'manual'
   on conflict do nothing
   returning ${operationColumns}`,
);

/**
 * Decides to void what is left of a hold, under a lease, or with `leaseMs` 0 for the sweep; undefined if its end was decided before, if it is being
 * captured, or if there is no hold.
 */
export async function insertVoid(
  tx: Tx,
  scope: Scope,
  operation: { attemptId: string; id: string; at: Date; leaseMs: number },
): Promise<IntentOperation | undefined> {
  if (operation.leaseMs === 0) wakeSweepAfterCommit(tx);
  const row = await tx.row(insert, scope, [operation.attemptId, operation.id, operation.at, operation.leaseMs]);
  return row && operationOfRow(row);
}

const decided = scoped<{ kind: 'capture' | 'cancel' }>(
  'checkout.intent_operation_decided',
  `select kind from checkout.intent_operations
   where account_id = $1 and test_mode = $2 and payment_intent_id = $3 and status in ('pending', 'done') and ends_hold`,
);

/** How it was decided that a hold ends, or undefined. */
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
   returning ${operationColumns}`,
);

const claimOfIntent = scoped<OperationRow>(
  'checkout.intent_operation_claim_of_intent',
  `update checkout.intent_operations set epoch = epoch + 1, lease_until = clock_timestamp() + $4 * interval '1 millisecond'
   where account_id = $1 and test_mode = $2 and payment_intent_id = $3 and status = 'pending' and lease_until < clock_timestamp()
   returning ${operationColumns}`,
);

/** The same for what is to be done to an intent; undefined when that is nothing, or another works on it. */
export async function claimOperationOfIntent(
  tx: Tx,
  scope: Scope,
  paymentIntentId: string,
  leaseMs: number,
): Promise<IntentOperation | undefined> {
  const row = await tx.row(claimOfIntent, scope, [paymentIntentId, leaseMs]);
  return row && operationOfRow(row);
}

export async function claimOperation(
  tx: Tx,
  scope: Scope,
  id: string,
  leaseMs: number,
): Promise<IntentOperation | undefined> {
  const row = await tx.row(claim, scope, [id, leaseMs]);
  return row && operationOfRow(row);
}

const claimOfCapture = scoped<OperationRow>(
  'checkout.intent_operation_claim_of_capture',
  `update checkout.intent_operations set epoch = epoch + 1, lease_until = clock_timestamp() + $4 * interval '1 millisecond'
   where account_id = $1 and test_mode = $2 and capture_id = $3 and status = 'pending' and lease_until < clock_timestamp()
   returning ${operationColumns}`,
);

/** The same for the operation of a capture that is to be carried out now. */
export async function claimOperationOfCapture(
  tx: Tx,
  scope: Scope,
  captureId: string,
  leaseMs: number,
): Promise<IntentOperation | undefined> {
  const row = await tx.row(claimOfCapture, scope, [captureId, leaseMs]);
  return row && operationOfRow(row);
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
  `update checkout.intent_operations set lease_until = now(), checks = checks + $6, tries = tries + $7,
     next_check_at = now() + $5 * interval '1 millisecond'
   where account_id = $1 and test_mode = $2 and id = $3 and epoch = $4 and status = 'pending'`,
);

/** Gives the lease back and says when to look again; `asked` counts the check, and `nextKey` makes the next one's key new. */
export async function postponeOperation(
  tx: Tx,
  scope: Scope,
  operation: Pick<IntentOperation, 'id' | 'epoch'>,
  {
    delayMs,
    asked,
    nextKey = false,
  }: { readonly delayMs: number; readonly asked: boolean; readonly nextKey?: boolean },
): Promise<void> {
  wakeSweepAfterCommit(tx, delayMs);
  await tx.execute(postpone, scope, [operation.id, operation.epoch, delayMs, asked ? 1 : 0, nextKey ? 1 : 0]);
}
