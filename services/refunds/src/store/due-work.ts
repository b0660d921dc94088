import { type Db, leaseFromNow, type Scope, scoped, type Tx, unscoped } from '@eligo/postgres';
import { wakeJobAfterCommit } from '@eligo/service';
import type { Refund, RefundAttempt } from '../domain/refund.ts';

/** The job that carries out due work. Code that postpones work wakes it for that time. */
export const sweepRefundsJob = 'sweep-refunds';

/** A pending step of a refund. */
export type DueWork =
  | { readonly kind: 'requested'; readonly scope: Scope; readonly refundId: string }
  | {
      readonly kind: 'attempt';
      readonly scope: Scope;
      readonly attemptId: string;
      readonly epoch?: number;
      readonly made?: MadeAttempt;
    }
  | { readonly kind: 'releasing'; readonly scope: Scope; readonly refundId: string; readonly paymentIntentId: string };

/** An attempt in the hands of the process that wrote it as sent. */
export interface MadeAttempt {
  readonly attempt: RefundAttempt;
  readonly refund: Refund;
  /** On the clock of performance.now(): a call that begins before this ends, with its margin, before the lease. */
  readonly sendBefore: number;
}

/** Where a page of due work ends, and the next one begins. */
export interface DuePlace {
  readonly dueAt: Date;
  readonly kind: string;
  readonly id: string;
  readonly part: string;
}

/** A page of what is due over all accounts, that due longest first, after a place; `last` is undefined when there is no more. */
export async function dueWork(
  db: Db,
  most: number,
  after: DuePlace = beforeAll,
): Promise<{ work: DueWork[]; last: DuePlace | undefined }> {
  const rows = await db.rows(find, null, [most, after.dueAt, after.kind, after.id, after.part]);
  const last = rows.length < most ? undefined : rows.at(-1);
  return {
    work: rows.map(workOf),
    last: last && { dueAt: last.due_at, kind: last.kind, id: last.id, part: last.part },
  };
}

/** How long until something falls due, negative when something is; undefined when nothing waits. */
export async function nextWorkInMs(db: Db): Promise<number | undefined> {
  return (await db.row(next, null))?.due_in_ms ?? undefined;
}

/** Makes attempts due that wait for their next check and that no process has taken since `agoMs` ago: at most so many, in all accounts. */
export async function wakeRefundWork(db: Db, agoMs: number, most: number): Promise<void> {
  await db.execute(wake, null, [agoMs, most]);
}

/** How much should have been settled by now: asked for, or sent, longer ago than this, or not heard by checkout, each counted up to a thousand. For a metric. */
export async function countWorkInDoubt(db: Db, afterSeconds: number): Promise<number> {
  return Number((await db.row(inDoubt, null, [afterSeconds]))?.work ?? 0n);
}

/** Postpones due work that failed, with increasing backoff; work that is already postponed or done stays as it is. */
export async function postponeWork(
  tx: Tx,
  work: DueWork,
  { pausesMs, afterFailedLookMs }: { pausesMs: readonly number[]; afterFailedLookMs: number },
): Promise<void> {
  wakeJobAfterCommit(tx, sweepRefundsJob, pausesMs[0]);
  switch (work.kind) {
    case 'requested':
      await tx.execute(postponeRequest, work.scope, [work.refundId, pausesMs]);
      return;
    case 'attempt':
      await tx.execute(postponeAttempt, work.scope, [work.attemptId, pausesMs]);
      await tx.execute(postponeLook, work.scope, [work.attemptId, afterFailedLookMs]);
      return;
    case 'releasing':
      await tx.execute(postponeItem, work.scope, [work.refundId, pausesMs, work.paymentIntentId]);
  }
}

const beforeAll: DuePlace = { dueAt: new Date(0), kind: '', id: '', part: '' };

interface DueRow {
  kind: DueWork['kind'];
  account_id: string;
  test_mode: boolean;
  id: string;
  part: string;
  due_at: Date;
}

const find = unscoped<DueRow>(
  'refunds.due_work',
  'select kind, account_id, test_mode, id, part, due_at from refunds.due_refund_work_after($1, $2, $3, $4, $5)',
);

const next = unscoped<{ due_in_ms: number | null }>(
  'refunds.next_work',
  'select extract(epoch from refunds.next_refund_work() - clock_timestamp())::float8 * 1000 as due_in_ms',
);

const wake = unscoped(
  'refunds.wake_work',
  `select refunds.wake_refund_work(now() - $1 * interval '1 millisecond', $2)`,
);

const inDoubt = unscoped<{ work: bigint }>('refunds.work_in_doubt', 'select refunds.refund_work_in_doubt($1) as work');

const later = `checks = checks + 1, next_check_at =
  clock_timestamp() + make_interval(secs => ($4::float8[])[least(checks + 1, cardinality($4::float8[]))] / 1000)`;
const stillDue = 'account_id = $1 and test_mode = $2 and next_check_at <= clock_timestamp()';

const postponeRequest = scoped(
  'refunds.postpone_due_request',
  `update refunds.refunds set ${later} where ${stillDue} and id = $3 and status = 'requested'`,
);
const postponeAttempt = scoped(
  'refund_attempts.postpone_due',
  `update refunds.refund_attempts set ${later} where ${stillDue} and id = $3
      and status in ('created', 'sending', 'unknown')`,
);
// Its checks say which look at a refund that the processor has comes next; one that failed was none.
const postponeLook = scoped(
  'refund_attempts.postpone_look',
  `update refunds.refund_attempts set next_check_at = ${leaseFromNow('$4')} where ${stillDue} and id = $3 and status = 'accepted'`,
);
const postponeItem = scoped(
  'refund_items.postpone_due',
  `update refunds.refund_items set ${later} where ${stillDue} and refund_id = $3 and payment_intent_id = $5
      and status = 'releasing'`,
);

function workOf(row: DueRow): DueWork {
  const scope = { accountId: row.account_id, testMode: row.test_mode };
  if (row.kind === 'attempt') return { kind: 'attempt', scope, attemptId: row.id };
  if (row.kind === 'requested') return { kind: 'requested', scope, refundId: row.id };
  return { kind: 'releasing', scope, refundId: row.id, paymentIntentId: row.part };
}
