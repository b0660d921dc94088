import {
  afterKeyLock,
  freshKeyInsert,
  freshKeyValues,
  joinedBytes,
  type KeyUse,
  keyOfAttemptFinish,
  keyOfAttemptLock,
  leaseFromNow,
  leaseIsLive,
  maxGroupSize,
  type Scope,
  type StoredAnswer,
  scoped,
  type Tx,
} from '@eligo/postgres';
import { wakeJobAfterCommit } from '@eligo/service';
import type { RefundSubject, RequestedRefund } from '../domain/refund.ts';
import { sweepRefundsJob } from './due-work.ts';

/** A requested refund in hand. */
export interface ClaimedRequest extends RequestedRefund {
  readonly epoch: number;
  readonly checks: number;
}

/** Stores what was asked for, leased to whoever asked; false when its operation id has been used. */
export async function insertRequest(tx: Tx, scope: Scope, refund: RequestedRefund, leaseMs: number): Promise<boolean> {
  return (await tx.execute(insert, scope, requestValues(refund, leaseMs))) === 1;
}

/** The same under a key that is claimed with it, in one statement; false, and nothing is written, when the key has been used before. */
export async function insertRequestUnderKey(
  tx: Tx,
  scope: Scope,
  refund: RequestedRefund,
  use: KeyUse,
  leaseMs: number,
): Promise<boolean> {
  const values = [...requestValues(refund, leaseMs), ...freshKeyValues(use, leaseMs, refund.refundId)];
  return (await tx.execute(insertUnderKey, scope, values)) === 1;
}

/** Stores several requests that no operation asked for, with one statement, each leased to whoever asked. */
export async function insertRequests(
  tx: Tx,
  scope: Scope,
  refunds: readonly RequestedRefund[],
  leaseMs: number,
): Promise<void> {
  const instructions = joinedBytes(refunds.map(({ instruction }) => instruction));
  const rows = refunds.map((refund, at) => ({ ...rowOf(refund), instruction_start: instructions.starts[at] }));
  await tx.execute(insertSeveral, scope, [JSON.stringify(rows), instructions.bytes, leaseMs]);
}

// Under the names of the columns. The instructions are one binary value and are cut apart there.
function rowOf({ subject, ...refund }: RequestedRefund) {
  return {
    id: refund.refundId,
    subject_session_id: subject.kind === 'session' ? subject.sessionId : null,
    subject_payment_intent_id: subject.kind === 'payment_intent' ? subject.paymentIntentId : null,
    instruction_bytes: refund.instruction.length,
    features: refund.features,
    reason: refund.reason,
    metadata: refund.metadata,
    subscription_id: refund.subscriptionId,
    invoice_id: refund.invoiceId,
  };
}

function requestValues(refund: RequestedRefund, leaseMs: number): unknown[] {
  const { subject } = refund;
  return [
    refund.refundId,
    subject.kind === 'session' ? subject.sessionId : null,
    subject.kind === 'payment_intent' ? subject.paymentIntentId : null,
    Buffer.from(refund.instruction),
    refund.features,
    refund.operationId,
    refund.reason,
    JSON.stringify(refund.metadata),
    refund.subscriptionId,
    refund.invoiceId,
    leaseMs,
  ];
}

/** Takes a requested refund whose lease has lapsed; undefined when it is requested no more, or somebody has it. */
export async function claimRequest(
  tx: Tx,
  scope: Scope,
  refundId: string,
  leaseMs: number,
): Promise<ClaimedRequest | undefined> {
  const row = await tx.row(claim, scope, [refundId, leaseMs]);
  return row === undefined ? undefined : fromRow(row);
}

/** Puts a requested refund off: whether it was reserved is not known. Nothing happens when another has claimed it since. */
export async function postponeRequest(
  tx: Tx,
  scope: Scope,
  refundId: string,
  epoch: number,
  pauseMs: number,
): Promise<void> {
  wakeJobAfterCommit(tx, sweepRefundsJob, pauseMs);
  await tx.execute(postpone, scope, [refundId, pauseMs, epoch]);
}

/**
 * Ends a requested refund that checkout refuses, and stores the answer under its key if it has one. False when it is requested no more, or
 * another has claimed it since.
 */
export async function refuseRequest(
  tx: Tx,
  scope: Scope,
  refused: { refundId: string; epoch: number; code: string; answer: StoredAnswer },
): Promise<boolean> {
  const { refundId, epoch, code, answer } = refused;
  return (await tx.row(refuse, scope, [refundId, code, epoch, answer.status, answer.body])) !== undefined;
}

/** Ends a requested refund of which nothing is to be left; its key stays locked until the transaction ends. */
export async function forgetRequest(
  tx: Tx,
  scope: Scope,
  refundId: string,
  epoch: number,
  code: string,
): Promise<boolean> {
  return (await tx.row(forget, scope, [refundId, code, epoch])) !== undefined;
}

/** Why a request was refused, if it was. */
export async function refusalOf(tx: Tx, scope: Scope, refundId: string): Promise<string | undefined> {
  return (await tx.row(selectRefusal, scope, [refundId]))?.refusal_code;
}

interface RequestRow {
  id: string;
  subject_session_id: string | null;
  subject_payment_intent_id: string | null;
  instruction: Buffer;
  features: string[];
  operation_id: string | null;
  reason: string | null;
  metadata: Record<string, string>;
  subscription_id: string | null;
  invoice_id: string | null;
  epoch: number;
  checks: number;
}

const one = 'account_id = $1 and test_mode = $2 and id = $3';

const requestColumns = `account_id, test_mode, id, status, subject_session_id, subject_payment_intent_id, instruction,
     features, operation_id, reason, metadata, subscription_id, invoice_id, lease_until, next_check_at`;
const insert = scoped(
  'refunds.request',
  `insert into refunds.refunds (${requestColumns})
   values ($1, $2, $3, 'requested', $4, $5, $6, $7, $8, $9, $10, $11, $12, ${leaseFromNow('$13::bigint')}, ${leaseFromNow('$13::bigint')})
   on conflict (account_id, test_mode, operation_id) where operation_id is not null do nothing`,
);
const insertSeveral = scoped(
  'refunds.request_several',
  `insert into refunds.refunds (account_id, test_mode, id, status, subject_session_id, subject_payment_intent_id, instruction,
     features, reason, metadata, subscription_id, invoice_id, lease_until, next_check_at)
   select $1, $2, r.id, 'requested', r.subject_session_id, r.subject_payment_intent_id,
     substring($4::bytea from r.instruction_start for r.instruction_bytes), r.features, r.reason, r.metadata, r.subscription_id,
     r.invoice_id, ${leaseFromNow('$5::bigint')}, ${leaseFromNow('$5::bigint')}
   from json_to_recordset($3::json) as r (id text, subject_session_id text, subject_payment_intent_id text, instruction_start integer,
     instruction_bytes integer, features text[], reason text, metadata jsonb, subscription_id text, invoice_id text)
   limit ${maxGroupSize}`,
);
const insertUnderKey = scoped(
  'refunds.request_under_key',
  `with key as (${freshKeyInsert(14)})
   insert into refunds.refunds (${requestColumns})
   select $1, $2, $3, 'requested', $4, $5, $6, $7::text[], $8, $9, $10::jsonb, $11, $12, ${leaseFromNow('$13::bigint')}, ${leaseFromNow('$13::bigint')}
     from key`,
);
const claim = scoped<RequestRow>(
  'refunds.claim_request',
  `update refunds.refunds set epoch = epoch + 1, lease_until = ${leaseFromNow('$4')}
    where ${one} and status = 'requested' and (lease_until is null or not (${leaseIsLive()}))
   returning id, subject_session_id, subject_payment_intent_id, instruction, features, operation_id, reason, metadata,
     subscription_id, invoice_id, epoch, checks`,
);
const postpone = scoped(
  'refunds.postpone_request',
  `update refunds.refunds set checks = checks + 1, lease_until = null, next_check_at = ${leaseFromNow('$4')}
    where ${one} and status = 'requested' and epoch = $5`,
);
// Keys are locked before refunds (docs/reliability.md, Refunds).
const lockKeyFirst = `with ${keyOfAttemptLock('$3')}, refund as (
     update refunds.refunds set status = 'refused', refusal_code = $4, lease_until = null, next_check_at = null
      where ${one} and status = 'requested' and epoch = $5 and ${afterKeyLock}
     returning id
   )`;
const refuse = scoped<{ id: string }>(
  'refunds.refuse_request',
  `${lockKeyFirst}, answered as (${keyOfAttemptFinish('$3', '$6', '$7', 'refund')}) select id from refund`,
);
const forget = scoped<{ id: string }>('refunds.forget_request', `${lockKeyFirst} select id from refund`);
const selectRefusal = scoped<{ refusal_code: string }>(
  'refunds.refusal',
  `select refusal_code from refunds.refunds where ${one} and status = 'refused'`,
);

function fromRow(row: RequestRow): ClaimedRequest {
  return {
    refundId: row.id,
    subject: subjectOf(row),
    instruction: row.instruction,
    features: row.features,
    operationId: row.operation_id,
    reason: row.reason,
    metadata: row.metadata,
    subscriptionId: row.subscription_id,
    invoiceId: row.invoice_id,
    epoch: row.epoch,
    checks: row.checks,
  };
}

function subjectOf(row: RequestRow): RefundSubject {
  if (row.subject_session_id !== null) return { kind: 'session', sessionId: row.subject_session_id };
  return { kind: 'payment_intent', paymentIntentId: row.subject_payment_intent_id ?? '' };
}
