import { commitBehind, type Db, maxGroupSize, type Scope, scoped, type Tx } from '@eligo/postgres';
import { centsFromInt64, type ProcessorAccountRow, processorAccountOfRow } from '@eligo/values';
import type { CardKind } from '../domain/card-kind.ts';
import type { AttemptStatus, ChargeAttempt, Leg, Settlement, ThreeDSecure } from '../domain/charge-attempt.ts';
import { wakeSweepAfterCommit } from './charge-work.ts';
import { locksWanted, lockText } from './payment-locks.ts';

type BucketColumn = `${'iias' | 'prescription' | 'vision' | 'service'}_cents`;

interface AttemptRow extends ProcessorAccountRow, Record<BucketColumn, bigint> {
  id: string;
  purpose: ChargeAttempt['purpose'];
  subject_id: string;
  leg: Leg;
  driver: ChargeAttempt['driver'];
  eligibility_record_id: string | null;
  payment_intent_id: string;
  customer_id: string | null;
  payment_method_id: string;
  processor_payment_method_id: string;
  processor_customer_id: string | null;
  off_session: boolean;
  capture_method: 'automatic' | 'manual';
  amount_cents: bigint;
  card_kind: CardKind | null;
  three_d_secure: ThreeDSecure | null;
  accepts_part: boolean;
  asked_cents: bigint | null;
  status: AttemptStatus;
  epoch: number;
  sends: number;
  checks: number;
  processor_intent_id: string | null;
  failure_code: string | null;
  decline_code: string | null;
  expand: string[];
  acting_at: Date;
  created_at: Date;
  lease_dead: boolean;
  confirm_over: boolean;
  authenticate_until: Date | null;
  awaits_customer: boolean;
  operation_id: string | null;
  mandate_id?: string | null;
}

const columns = `id, purpose, subject_id, leg, driver, eligibility_record_id, payment_intent_id, customer_id, payment_method_id,
  processor, processor_account, processor_payment_method_id, processor_customer_id, off_session, capture_method, amount_cents, iias_cents, prescription_cents, vision_cents, service_cents, card_kind, three_d_secure, accepts_part, asked_cents,
  status, epoch, sends, checks, processor_intent_id, failure_code, decline_code, expand, acting_at, created_at, operation_id,
  authenticate_until, coalesce(authenticate_until > clock_timestamp(), false) as awaits_customer,
  lease_until < clock_timestamp() as lease_dead, confirm_until <= clock_timestamp() as confirm_over`;

function fromRow(row: AttemptRow): ChargeAttempt {
  return {
    id: row.id,
    purpose: row.purpose,
    subjectId: row.subject_id,
    leg: row.leg,
    driver: row.driver,
    eligibilityRecordId: row.eligibility_record_id,
    paymentIntentId: row.payment_intent_id,
    customerId: row.customer_id,
    paymentMethodId: row.payment_method_id,
    processorAccount: processorAccountOfRow(row),
    processorPaymentMethodId: row.processor_payment_method_id,
    processorCustomerId: row.processor_customer_id,
    offSession: row.off_session,
    captureMethod: row.capture_method,
    amountCents: centsFromInt64(row.amount_cents),
    healthcare: {
      iiasCents: centsFromInt64(row.iias_cents),
      prescriptionCents: centsFromInt64(row.prescription_cents),
      visionCents: centsFromInt64(row.vision_cents),
      serviceCents: centsFromInt64(row.service_cents),
    },
    cardKind: row.card_kind,
    threeDSecure: row.three_d_secure,
    acceptsPart: row.accepts_part,
    askedCents: row.asked_cents === null ? null : centsFromInt64(row.asked_cents),
    status: row.status,
    epoch: row.epoch,
    sends: row.sends,
    checks: row.checks,
    processorIntentId: row.processor_intent_id,
    failureCode: row.failure_code,
    declineCode: row.decline_code,
    expand: row.expand,
    actingAt: row.acting_at,
    createdAt: row.created_at,
    leaseDead: row.lease_dead,
    confirmOver: row.confirm_over,
    authenticateUntil: row.authenticate_until,
    awaitsCustomer: row.awaits_customer,
    operationId: row.operation_id,
    mandateId: row.mandate_id ?? null,
  };
}

/** What a new attempt is made of; its lease and the time in which it may be confirmed begin with the statement. */
export type NewAttempt = Omit<
  ChargeAttempt,
  | 'status'
  | 'epoch'
  | 'sends'
  | 'checks'
  | 'processorIntentId'
  | 'failureCode'
  | 'declineCode'
  | 'createdAt'
  | 'leaseDead'
  | 'confirmOver'
  | 'authenticateUntil'
  | 'awaitsCustomer'
> & { readonly leaseMs: number; readonly confirmMs: number };

// `begun` takes attempts from `$3`. The intents and their attempts in one statement: one cannot exist without the other. The limit is that of a group;
// without it the planner expects a hundred rows of JSON.
export const begunText: string = `begun as materialized (
     select b.* from json_to_recordset($3::json) as b (
       id text, intent_id text, session_id text, invoice_id text, subscription_id text, customer_id text, payment_method_id text,
       leg text, capture_method text, amount_cents bigint, acting_at timestamptz, purpose text, subject_id text, driver text,
       eligibility_record_id text, processor_payment_method_id text, processor_customer_id text, off_session boolean,
       lease_ms float8, expand text[], iias_cents bigint, prescription_cents bigint, vision_cents bigint, service_cents bigint,
       confirm_ms float8, operation_id text, card_kind checkout.card_kind, three_d_secure checkout.three_d_secure, processor checkout.processor, processor_account text)
     limit ${maxGroupSize}
   )`;
export const insertBothText: string = `intent as (
     insert into checkout.payment_intents (account_id, test_mode, id, session_id, invoice_id, subscription_id, customer_id,
       payment_method_id, leg, capture_method, status, amount_cents, created_at, processor, processor_account)
     select $1, $2, intent_id, session_id, invoice_id, subscription_id, customer_id, payment_method_id, leg, capture_method,
       'processing', amount_cents, acting_at, processor, processor_account
     from begun
   ), attempt as (
     insert into checkout.charge_attempts (account_id, test_mode, id, purpose, subject_id, leg, driver, eligibility_record_id,
       payment_intent_id, customer_id, payment_method_id, processor_payment_method_id, processor_customer_id, off_session,
       capture_method, amount_cents, status, lease_until, acting_at, expand,
       iias_cents, prescription_cents, vision_cents, service_cents, confirm_until, operation_id, card_kind, three_d_secure, processor, processor_account)
     select $1, $2, id, purpose, subject_id, leg, driver, eligibility_record_id, intent_id, customer_id, payment_method_id,
       processor_payment_method_id, processor_customer_id, off_session, capture_method, amount_cents, 'created',
       clock_timestamp() + lease_ms * interval '1 millisecond', acting_at, expand, iias_cents, prescription_cents, vision_cents,
       service_cents, clock_timestamp() + confirm_ms * interval '1 millisecond', operation_id, card_kind, three_d_secure, processor, processor_account
     from begun
   )`;
const insert = scoped<{ written: true }>(
  'checkout.charge_attempt_insert',
  `with ${begunText}, ${insertBothText} select true as written`,
);
const insertLocked = scoped<{ locks: bigint }>(
  'checkout.charge_attempts_insert_locked',
  `with ${begunText}, locks as (
     ${lockText('begun')}
   ), ${insertBothText}
   select count(*) as locks from locks`,
);

/** Whom the intent belongs to, beside what its attempt says. */
export interface IntentOwners {
  readonly sessionId: string | null;
  readonly invoiceId: string | null;
  readonly subscriptionId: string | null;
}

/** A new attempt with the owners of its payment intent. */
export interface BegunAttempt {
  readonly attempt: NewAttempt;
  readonly owners: IntentOwners;
}

/** Writes some attempts, at most 16, and their payment intents. The unique indexes refuse a second live one (23505, `charge_attempts_one_live`). */
export async function insertAttempts(tx: Tx, scope: Scope, begins: readonly BegunAttempt[]): Promise<void> {
  await tx.row(insert, scope, [JSON.stringify(begins.map(begunRow))]);
}

/**
 * The same for some attempts, at most 16, and takes the customer and the payment method of each, all with one statement. False when another live
 * attempt holds one of them: the caller rolls back, and nothing is left behind.
 */
export async function insertLockedAttempts(tx: Tx, scope: Scope, begins: readonly BegunAttempt[]): Promise<boolean> {
  const row = await tx.row(insertLocked, scope, [JSON.stringify(begins.map(begunRow))]);
  const wanted = begins.reduce((sum, { attempt }) => sum + locksWanted(attempt.customerId), 0);
  return Number(row?.locks) === wanted;
}

/** The row of `begunText` for a new attempt. */
export function begunRow({ attempt, owners }: BegunAttempt): Readonly<Record<string, unknown>> {
  return {
    ...{ id: attempt.id, intent_id: attempt.paymentIntentId },
    session_id: owners.sessionId,
    invoice_id: owners.invoiceId,
    subscription_id: owners.subscriptionId,
    customer_id: attempt.customerId,
    payment_method_id: attempt.paymentMethodId,
    leg: attempt.leg,
    capture_method: attempt.captureMethod,
    amount_cents: attempt.amountCents,
    acting_at: attempt.actingAt,
    purpose: attempt.purpose,
    subject_id: attempt.subjectId,
    driver: attempt.driver,
    eligibility_record_id: attempt.eligibilityRecordId,
    processor_payment_method_id: attempt.processorPaymentMethodId,
    processor_customer_id: attempt.processorCustomerId,
    off_session: attempt.offSession,
    lease_ms: attempt.leaseMs,
    expand: attempt.expand,
    iias_cents: attempt.healthcare.iiasCents,
    prescription_cents: attempt.healthcare.prescriptionCents,
    vision_cents: attempt.healthcare.visionCents,
    service_cents: attempt.healthcare.serviceCents,
    confirm_ms: attempt.confirmMs,
    operation_id: attempt.operationId,
    card_kind: attempt.cardKind,
    three_d_secure: attempt.threeDSecure,
    processor: attempt.processorAccount?.processor,
    processor_account: attempt.processorAccount?.account,
  };
}

const byId = scoped<AttemptRow>(
  'checkout.charge_attempt',
  `select ${columns} from checkout.charge_attempts where account_id = $1 and test_mode = $2 and id = $3`,
);
/** The attempt, or undefined. */
export async function findAttempt(db: Db, scope: Scope, id: string): Promise<ChargeAttempt | undefined> {
  const row = await db.row(byId, scope, [id]);
  return row && fromRow(row);
}

const latestOfOperation = scoped<AttemptRow>(
  'checkout.charge_attempt_of_operation',
  `select ${columns} from checkout.charge_attempts
   where account_id = $1 and test_mode = $2 and operation_id = $3 order by created_at desc limit 1`,
);

/** The latest attempt under an operation of billing, or undefined. */
export async function findAttemptOfOperation(
  db: Db,
  scope: Scope,
  operationId: string,
): Promise<ChargeAttempt | undefined> {
  const row = await db.row(latestOfOperation, scope, [operationId]);
  return row && fromRow(row);
}

const liveBySubject = scoped<AttemptRow>(
  'checkout.charge_attempts_live',
  `select ${columns} from checkout.charge_attempts
   where account_id = $1 and test_mode = $2 and purpose = any($3::text[]) and subject_id = $4
     and status in ('created', 'sending', 'unknown', 'succeeded')
   order by leg`,
);

/** The live attempts of some purposes for a session or an invoice: at most one of each purpose for each leg. */
export async function liveAttempts(
  db: Db,
  scope: Scope,
  purposes: ChargeAttempt['purpose'] | readonly ChargeAttempt['purpose'][],
  subjectId: string,
): Promise<ChargeAttempt[]> {
  return (await db.rows(liveBySubject, scope, [[purposes].flat(), subjectId])).map(fromRow);
}

/** An attempt that is about to be confirmed at the processor. */
export interface AttemptToSend {
  readonly attempt: Pick<ChargeAttempt, 'id' | 'epoch'>;
  readonly processorIntentId: string;
  /** What is left for the call; the lease must outlive it. */
  readonly callMs: number;
}

// The fence: only the holder of a lease that outlasts the call may send, and only until the time to confirm is over.
const fence = scoped<AttemptRow>(
  'checkout.charge_attempts_fence',
  `update checkout.charge_attempts a
   set status = 'sending', sends = sends + 1, sent_at = now(), processor_intent_id = coalesce(processor_intent_id, f.intent_id)
   from unnest($3::text[], $4::int[], $5::text[], $6::float8[])
     as f (attempt_id, attempt_epoch, intent_id, call_ms)
   where account_id = $1 and test_mode = $2 and id = f.attempt_id and epoch = f.attempt_epoch
     and status in ('created', 'sending', 'unknown') and lease_until > clock_timestamp() + f.call_ms * interval '1 millisecond'
     and confirm_until > clock_timestamp()
   returning ${columns}, (select m.mandate_id from checkout.payment_methods m
     where a.off_session and m.account_id = $1 and m.test_mode = $2 and m.id = a.payment_method_id) as mandate_id`,
);

/**
 * Passes the fence before the sends of some attempts and sends COMMIT with it; nothing may follow in the transaction. Answers each attempt as it is
 * then, or undefined: another process has taken over, the lease is too short for the call, or the time to confirm is over.
 */
export async function fenceAttempts(
  tx: Tx,
  scope: Scope,
  sends: readonly AttemptToSend[],
): Promise<(ChargeAttempt | undefined)[]> {
  const passed = tx.rows(fence, scope, [
    sends.map(({ attempt }) => attempt.id),
    sends.map(({ attempt }) => attempt.epoch),
    sends.map(({ processorIntentId }) => processorIntentId),
    sends.map(({ callMs }) => callMs),
  ]);
  commitBehind(tx);
  const byId = new Map((await passed).map((row) => [row.id, fromRow(row)]));
  return sends.map(({ attempt }) => byId.get(attempt.id));
}

const claim = scoped<AttemptRow>(
  'checkout.charge_attempt_claim',
  `update checkout.charge_attempts
   set epoch = epoch + 1, lease_until = clock_timestamp() + $4 * interval '1 millisecond'
   where account_id = $1 and test_mode = $2 and id = $3 and status in ('created', 'sending', 'unknown')
     and lease_until < clock_timestamp()
   returning ${columns}`,
);

/** Takes an unsettled attempt over after its lease expired; undefined when it is settled or still leased. */
export async function claimAttempt(
  tx: Tx,
  scope: Scope,
  id: string,
  leaseMs: number,
): Promise<ChargeAttempt | undefined> {
  const row = await tx.row(claim, scope, [id, leaseMs]);
  return row && fromRow(row);
}

const markUnknown = scoped(
  'checkout.charge_attempt_unknown',
  `update checkout.charge_attempts
   set status = case when status = 'created' then status else 'unknown' end, checks = checks + 1, lease_until = now(),
     next_check_at = now() + $5 * interval '1 millisecond'
   where account_id = $1 and test_mode = $2 and id = $3 and epoch = $4 and status in ('created', 'sending', 'unknown')`,
);

/** The outcome is unknown: releases the lease and sets the next check. */
export async function recordUnknown(
  tx: Tx,
  scope: Scope,
  attempt: Pick<ChargeAttempt, 'id' | 'epoch'>,
  nextCheckMs: number,
): Promise<void> {
  wakeSweepAfterCommit(tx, nextCheckMs);
  await tx.execute(markUnknown, scope, [attempt.id, attempt.epoch, nextCheckMs]);
}

const postpone = scoped(
  'checkout.charge_attempt_postpone',
  `update checkout.charge_attempts set lease_until = now(), next_check_at = now() + $5 * interval '1 millisecond'
   where account_id = $1 and test_mode = $2 and id = $3 and epoch = $4 and status in ('created', 'sending', 'unknown')`,
);

/** The processor was not called: releases the lease without counting a check, so that the backoff does not grow. */
export async function postponeAttempt(
  tx: Tx,
  scope: Scope,
  attempt: Pick<ChargeAttempt, 'id' | 'epoch'>,
  nextCheckMs: number,
): Promise<void> {
  wakeSweepAfterCommit(tx, nextCheckMs);
  await tx.execute(postpone, scope, [attempt.id, attempt.epoch, nextCheckMs]);
}

const settle = scoped(
  'checkout.charge_attempt_settle',
  `update checkout.charge_attempts set status = $4, failure_code = $5, decline_code = $6
   where account_id = $1 and test_mode = $2 and id = $3 and status in ('created', 'sending', 'unknown')`,
);

/** Records the processor's answer. Not conditional on the epoch: a fact holds whichever process learned it. Returns false when it was settled before. */
export async function settleAttempt(
  tx: Tx,
  scope: Scope,
  id: string,
  { status, failureCode, declineCode }: Settlement,
): Promise<boolean> {
  return (await tx.execute(settle, scope, [id, status, failureCode, declineCode])) === 1;
}

const abandon = scoped<{ payment_intent_id: string; acting_at: Date }>(
  'checkout.charge_attempt_abandon',
  `update checkout.charge_attempts set status = 'abandoned', epoch = epoch + 1, failure_code = $4
   where account_id = $1 and test_mode = $2 and id = $3 and status = 'created' and lease_until < clock_timestamp()
   returning payment_intent_id, acting_at`,
);

/**
 * Gives up an attempt that was never sent and whose lease is dead: it moved nothing, and its fence can no longer be passed. Answers its intent,
 * which is to be canceled with it, or undefined when it is not one to give up.
 */
export async function abandonAttempt(
  tx: Tx,
  scope: Scope,
  id: string,
  failureCode: string | null,
): Promise<{ paymentIntentId: string; actingAt: Date } | undefined> {
  const row = await tx.row(abandon, scope, [id, failureCode]);
  return row && { paymentIntentId: row.payment_intent_id, actingAt: row.acting_at };
}
