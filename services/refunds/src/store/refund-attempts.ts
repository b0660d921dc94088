import { type Db, leaseFromNow, leaseIsLive, type Scope, scoped, type Tx } from '@eligo/postgres';
import { wakeJobAfterCommit } from '@eligo/service';
import { centsFromInt64, type ProcessorAccountRow, processorAccountOfRow } from '@eligo/values';
import type { RefundAttempt } from '../domain/refund.ts';
import type { AttemptStatus } from '../domain/refund-states.ts';
import { sweepRefundsJob } from './due-work.ts';
import { type CaptureJson, capturesOfJson } from './refund-items.ts';

/** An attempt to be made. */
export type NewAttempt = Pick<
  RefundAttempt,
  'attemptId' | 'refundId' | 'paymentIntentId' | 'processorIntentId' | 'amountCents'
>;

/** Stores attempts under epoch 1, leased to whoever makes them. */
export async function insertAttempts(
  tx: Tx,
  scope: Scope,
  attempts: readonly NewAttempt[],
  leaseMs: number,
): Promise<void> {
  await tx.execute(insert, scope, [
    attempts.map(({ attemptId }) => attemptId),
    attempts.map(({ refundId }) => refundId),
    attempts.map(({ paymentIntentId }) => paymentIntentId),
    attempts.map(({ processorIntentId }) => processorIntentId),
    attempts.map(({ amountCents }) => amountCents),
    leaseMs,
  ]);
}

/** Takes an attempt whose lease has lapsed; undefined when nothing is to be done, or somebody has it. */
export async function claimAttempt(
  tx: Tx,
  scope: Scope,
  attemptId: string,
  leaseMs: number,
): Promise<RefundAttempt | undefined> {
  const row = await tx.row(claim, scope, [attemptId, leaseMs]);
  return row === undefined ? undefined : fromRow(row);
}

/** The attempt while this epoch of it is the latest, or undefined. */
export async function findHeldAttempt(
  db: Db,
  scope: Scope,
  attemptId: string,
  epoch: number,
): Promise<RefundAttempt | undefined> {
  const row = await db.row(selectHeld, scope, [attemptId, epoch]);
  return row === undefined ? undefined : fromRow(row);
}

/**
 * The fence before a call: notes that it is about to be sent. Undefined, and nothing may be sent, when the attempt is another's by now, or the
 * lease would not outlast the call.
 */
export async function fenceAttempt(
  tx: Tx,
  scope: Scope,
  attemptId: string,
  epoch: number,
  callMs: number,
): Promise<RefundAttempt | undefined> {
  const row = await tx.row(fence, scope, [attemptId, epoch, callMs]);
  return row === undefined ? undefined : fromRow(row);
}

/** Notes what became of an attempt and when to look again; false when it no longer stands where such a move begins. */
export async function moveAttempt(
  tx: Tx,
  scope: Scope,
  attemptId: string,
  to: {
    status: Exclude<AttemptStatus, 'created' | 'sending'>;
    pauseMs?: number | undefined;
    processorRefundId?: string | undefined;
    failureCode?: string | undefined;
  },
): Promise<boolean> {
  if (to.pauseMs !== undefined) wakeJobAfterCommit(tx, sweepRefundsJob, to.pauseMs);
  const moved = await tx.execute(move, scope, [
    attemptId,
    to.status,
    to.pauseMs ?? 0,
    to.processorRefundId ?? null,
    to.failureCode ?? null,
    movesFrom[to.status],
  ]);
  return moved === 1;
}

/** Puts a look at what the processor has off, by one that found out nothing; which look comes next stays as it is. */
export async function postponeLook(tx: Tx, scope: Scope, attemptId: string, pauseMs: number): Promise<void> {
  wakeJobAfterCommit(tx, sweepRefundsJob, pauseMs);
  await tx.execute(postpone, scope, [attemptId, pauseMs]);
}

/** Puts off the send of an attempt in hand, since the processor is known to be down: nothing was asked, and no check counts. */
export async function postponeSend(
  tx: Tx,
  scope: Scope,
  attemptId: string,
  epoch: number,
  pauseMs: number,
): Promise<void> {
  wakeJobAfterCommit(tx, sweepRefundsJob, pauseMs);
  await tx.execute(putOff, scope, [attemptId, pauseMs, epoch]);
}

/** The attempts of a refund that have not failed: at most one for each of its cards. */
export async function liveAttemptsOf(db: Db, scope: Scope, refundId: string): Promise<RefundAttempt[]> {
  return (await db.rows(selectLive, scope, [refundId])).map(fromRow);
}

/** The attempt that this refund of the processor answers, whatever became of it since. */
export async function findAttemptByProcessorRefund(
  db: Db,
  scope: Scope,
  processorRefundId: string,
): Promise<RefundAttempt | undefined> {
  const row = await db.row(selectByProcessorRefund, scope, [processorRefundId]);
  return row === undefined ? undefined : fromRow(row);
}

interface AttemptRow extends ProcessorAccountRow {
  id: string;
  refund_id: string;
  payment_intent_id: string;
  processor_intent_id: string;
  amount_cents: bigint;
  captures: readonly CaptureJson[];
  status: AttemptStatus;
  epoch: number;
  sends: number;
  checks: number;
  first_sent_at: Date | null;
  processor_refund_id: string | null;
  now: Date;
}

// What is written down is a fact of the processor's, so it is not bound to the epoch; a state that is final is not left.
const movesFrom: Record<Exclude<AttemptStatus, 'created' | 'sending'>, AttemptStatus[]> = {
  unknown: ['sending', 'unknown'],
  accepted: ['sending', 'unknown', 'accepted'],
  failed: ['sending', 'unknown'],
  ended: ['accepted'],
};

const here = 'account_id = $1 and test_mode = $2';
// Where the money is, is known by the card's part of the refund alone.
const ofItem = (
  column: string,
) => `(select i.${column} from refunds.refund_items i where i.account_id = $1 and i.test_mode = $2
    and i.refund_id = refund_attempts.refund_id and i.payment_intent_id = refund_attempts.payment_intent_id) as ${column}`;
const columns = `id, refund_id, payment_intent_id, processor_intent_id, amount_cents, status, epoch, sends, checks, first_sent_at,
  processor_refund_id, clock_timestamp() as now, ${ofItem('processor')}, ${ofItem('processor_account')}, ${ofItem('captures')}`;
const one = `${here} and id = $3`;

const insert = scoped(
  'refund_attempts.insert',
  `insert into refunds.refund_attempts
     (account_id, test_mode, id, refund_id, payment_intent_id, processor_intent_id, amount_cents, status, lease_until, next_check_at)
   select $1, $2, a.*, 'created', ${leaseFromNow('$8::bigint')}, ${leaseFromNow('$8::bigint')}
     from unnest($3::text[], $4::text[], $5::text[], $6::text[], $7::bigint[]) as a`,
);
const claim = scoped<AttemptRow>(
  'refund_attempts.claim',
  `update refunds.refund_attempts set epoch = epoch + 1, lease_until = ${leaseFromNow('$4')}
    where ${one} and status in ('created', 'sending', 'unknown', 'accepted') and not (${leaseIsLive()})
   returning ${columns}`,
);
const selectHeld = scoped<AttemptRow>(
  'refund_attempts.held',
  `select ${columns} from refunds.refund_attempts where ${one} and epoch = $4`,
);
const fence = scoped<AttemptRow>(
  'refund_attempts.fence',
  `update refunds.refund_attempts
      set status = 'sending', sends = sends + 1, sent_at = clock_timestamp(), first_sent_at = coalesce(first_sent_at, clock_timestamp())
    where ${one} and epoch = $4 and status in ('created', 'sending', 'unknown') and lease_until > ${leaseFromNow('$5')}
   returning ${columns}`,
);
const move = scoped(
  'refund_attempts.move',
  `update refunds.refund_attempts
      set status = $4, lease_until = clock_timestamp(), next_check_at = ${leaseFromNow('$5::bigint')},
          checks = case when status <> 'accepted' and $4 = 'accepted' then 0 else checks + 1 end,
          processor_refund_id = coalesce($6, processor_refund_id), failure_code = coalesce($7, failure_code)
    where ${one} and status = any($8::text[])`,
);
const postpone = scoped(
  'refund_attempts.postpone',
  `update refunds.refund_attempts set lease_until = clock_timestamp(), next_check_at = ${leaseFromNow('$4::bigint')}
    where ${one} and status = 'accepted'`,
);
const putOff = scoped(
  'refund_attempts.put_off',
  `update refunds.refund_attempts set lease_until = clock_timestamp(), next_check_at = ${leaseFromNow('$4::bigint')}
    where ${one} and epoch = $5 and status in ('created', 'sending', 'unknown')`,
);
const selectLive = scoped<AttemptRow>(
  'refund_attempts.live_of_refund',
  `select ${columns} from refunds.refund_attempts where ${here} and refund_id = $3 and status <> 'failed' order by id`,
);
const selectByProcessorRefund = scoped<AttemptRow>(
  'refund_attempts.by_processor_refund',
  `select ${columns} from refunds.refund_attempts where ${here} and processor_refund_id = $3`,
);

function fromRow(row: AttemptRow): RefundAttempt {
  return {
    attemptId: row.id,
    refundId: row.refund_id,
    paymentIntentId: row.payment_intent_id,
    processorAccount: processorAccountOfRow(row),
    processorIntentId: row.processor_intent_id,
    amountCents: centsFromInt64(row.amount_cents),
    captures: capturesOfJson(row.captures),
    status: row.status,
    epoch: row.epoch,
    sends: row.sends,
    checks: row.checks,
    firstSentAt: row.first_sent_at,
    processorRefundId: row.processor_refund_id,
    now: row.now,
  };
}
