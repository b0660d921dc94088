import { type Db, type Scope, scoped, type Tx } from '@eligo/postgres';
import { type Cents, centsFromInt64, newId } from '@eligo/values';
import type { Capture, CaptureCause } from '../domain/capture.ts';
import type { CaptureAllocation } from '../domain/capture-allocation.ts';
import type { Components } from '../domain/line-allocation.ts';
import type { PaymentIntent } from '../domain/payment-intent.ts';
import { wakeSweepAfterCommit } from './charge-work.ts';
import { type IntentOperation, type OperationRow, operationColumns, operationOfRow } from './intent-operations.ts';
import { type IntentRow, intentColumns, intentOfRow } from './payment-intents.ts';

/** A card of a session that is held, as the processor knows its charge. */
export interface HeldCard {
  readonly intent: PaymentIntent;
  readonly last4: string;
  readonly processorChargeId: string | null;
}

/** The cards that a session holds, in the order of their intents' ids, without the holds of renewals that are only to be voided. The caller holds the session's row. */
export async function loadHeldCards(db: Db, scope: Scope, sessionId: string): Promise<HeldCard[]> {
  return (await db.rows(held, scope, [sessionId])).map((row) => ({
    intent: intentOfRow(row),
    last4: row.last4 ?? '',
    processorChargeId: row.processor_charge_id,
  }));
}

/** The intent of which a capture with one card took its money. */
export async function findCapturedIntent(db: Db, scope: Scope, captureId: string): Promise<PaymentIntent | undefined> {
  const row = await db.row(captured, scope, [captureId]);
  return row && intentOfRow(row);
}

/** How a session stands for a capture: what was captured of its components, how many captures it has, not counting failed ones, and whether a capture or a payment on the page is unsettled. */
export interface CaptureStanding {
  readonly captured: Components;
  readonly captures: number;
  readonly isCapturing: boolean;
  readonly isPaying: boolean;
}

export async function loadCaptureStanding(db: Db, scope: Scope, sessionId: string): Promise<CaptureStanding> {
  const row = await db.row(standing, scope, [sessionId]);
  if (row === undefined) throw new Error(`Session ${sessionId} not found`);
  return captureStandingOf(row);
}

/** The columns that say how a session stands for a capture. */
export interface CaptureStandingRow {
  captured_tax_cents: bigint;
  captured_shipping_cents: bigint;
  captured_discount_cents: bigint;
  captures: bigint;
  is_capturing: boolean;
  is_paying: boolean;
}

/** What they read of a session `s`. */
export const captureStandingColumns = `s.captured_tax_cents, s.captured_shipping_cents, s.captured_discount_cents,
     (select count(*) from checkout.captures c where c.account_id = $1 and c.test_mode = $2 and c.session_id = s.id and c.status <> 'failed') as captures,
     exists (select from checkout.captures c
       where c.account_id = $1 and c.test_mode = $2 and c.session_id = s.id and c.status = 'pending' offset 0) as is_capturing,
     exists (select from checkout.payment_plans p
       where p.account_id = $1 and p.test_mode = $2 and p.session_id = s.id and p.state in ('running', 'releasing') offset 0) as is_paying`;

export function captureStandingOf(row: CaptureStandingRow): CaptureStanding {
  return {
    captured: {
      tax: centsFromInt64(row.captured_tax_cents),
      shipping: centsFromInt64(row.captured_shipping_cents),
      discount: centsFromInt64(row.captured_discount_cents),
    },
    captures: Number(row.captures),
    isCapturing: row.is_capturing,
    isPaying: row.is_paying,
  };
}

/** A capture to be carried out, or one that needs no call to the processor. */
export interface NewCapture {
  readonly id: string;
  readonly sessionId: string;
  readonly cause: CaptureCause;
  readonly allocation: CaptureAllocation;
  readonly metadata: Readonly<Record<string, string>>;
  readonly at: Date;
}

/**
 * Writes a capture with its lines and its operations at the processor: the first one under a lease, or with `leaseMs` 0 for the sweep; the others wait
 * for it. Returns the first, or undefined for a capture that asks the processor for nothing. The unique indexes refuse a second unsettled capture of the session, and an operation on a hold that has one. The caller holds the session's row.
 */
export async function insertCapture(
  tx: Tx,
  scope: Scope,
  capture: NewCapture,
  leaseMs: number,
): Promise<IntentOperation | undefined> {
  const { allocation } = capture;
  if (leaseMs === 0) wakeSweepAfterCommit(tx);
  const rows = await tx.rows(insert, scope, [
    ...valuesOf(capture),
    allocation.cards.map(() => newId('intent_operation')),
    allocation.cards.map((card) => card.intent.id),
    allocation.cards.map((card) => card.amount),
    allocation.cards.map((card) => card.endsHold),
    leaseMs,
  ]);
  if (rows.length !== allocation.cards.length) throw new Error(`Capture ${capture.id} has a card without a hold`);
  const first = rows.find(({ status }) => status === 'pending');
  return first && operationOfRow(first);
}

/** Makes an operation that the release before this one began part of a capture. */
export async function adoptOperation(tx: Tx, scope: Scope, capture: NewCapture, operationId: string): Promise<void> {
  await tx.execute(adopt, scope, [...valuesOf(capture), operationId]);
}

function valuesOf({ allocation, ...capture }: NewCapture): unknown[] {
  return [
    capture.id,
    capture.sessionId,
    capture.cause,
    allocation.amount,
    allocation.tax,
    allocation.shipping,
    allocation.discount,
    allocation.isFinal,
    capture.metadata,
    capture.at,
    allocation.lines.map((line) => line.lineId),
    allocation.lines.map((line) => line.paymentIntentId),
    allocation.lines.map((line) => line.amount),
  ];
}

/** What has become of the operations of a capture. */
export interface CaptureParts {
  /** One is at the processor. */
  readonly isPending: boolean;
  /** The one that comes next. */
  readonly waitingId: string | undefined;
  readonly capturedIntentIds: readonly string[];
  /** Why a hold was lost, if one was. */
  readonly lostCode: string | null;
}

export async function loadCaptureParts(tx: Tx, scope: Scope, captureId: string): Promise<CaptureParts> {
  const rows = await tx.rows(parts, scope, [captureId]);
  return {
    isPending: rows.some((row) => row.status === 'pending'),
    waitingId: rows.find((row) => row.status === 'waiting')?.id,
    capturedIntentIds: rows.filter((row) => row.status === 'done').map((row) => row.payment_intent_id),
    lostCode: rows.find((row) => row.status === 'failed')?.failure_code ?? null,
  };
}

/** Lets the next operation of a capture begin. */
export async function beginWaitingOperation(tx: Tx, scope: Scope, id: string): Promise<void> {
  wakeSweepAfterCommit(tx);
  await tx.execute(begin, scope, [id]);
}

/** Nothing more of a capture is asked of the processor. */
export async function dropWaitingOperations(tx: Tx, scope: Scope, captureId: string): Promise<void> {
  await tx.execute(drop, scope, [captureId]);
}

/** Notes what a settled operation of a capture took of its lines. */
export async function recordCapturedLines(
  tx: Tx,
  scope: Scope,
  { id, sessionId }: Pick<Capture, 'id' | 'sessionId'>,
  paymentIntentId: string,
): Promise<void> {
  await tx.execute(takeLines, scope, [id, paymentIntentId, sessionId]);
}

/** What a capture takes of each line. */
export async function loadCaptureLines(
  tx: Tx,
  scope: Scope,
  captureId: string,
): Promise<{ lineId: string; paymentIntentId: string; amount: Cents }[]> {
  return (await tx.rows(linesOf, scope, [captureId])).map((row) => ({
    lineId: row.line_id,
    paymentIntentId: row.payment_intent_id,
    amount: centsFromInt64(row.amount_cents),
  }));
}

/** Records that a capture succeeded, as what was really captured, and adds its components to the session. The caller holds the session's row. */
export async function recordCaptureSucceeded(tx: Tx, scope: Scope, capture: Capture): Promise<void> {
  await tx.execute(succeed, scope, [
    capture.id,
    capture.amountCents,
    capture.taxCents,
    capture.shippingCents,
    capture.discountCents,
  ]);
}

/** Records that a capture failed: partners do not see it. */
export async function recordCaptureFailed(tx: Tx, scope: Scope, captureId: string, code: string): Promise<void> {
  await tx.execute(fail, scope, [captureId, code]);
}

const held = scoped<IntentRow & { last4: string | null; processor_charge_id: string | null }>(
  'checkout.held_cards',
  `select ${intentColumns},
     (select m.last4 from checkout.payment_methods m
       where m.account_id = $1 and m.test_mode = $2 and m.id = i.payment_method_id) as last4,
     (select c.processor_charge_id from checkout.charges c
       where c.account_id = $1 and c.test_mode = $2 and c.id = i.latest_charge_id) as processor_charge_id
   from checkout.payment_intents i
   where i.account_id = $1 and i.test_mode = $2 and i.session_id = $3 and i.status = 'requires_capture'
     and exists (
       select from checkout.charge_attempts a
       where a.account_id = $1 and a.test_mode = $2 and a.purpose = 'session' and a.subject_id = $3 and a.leg = i.leg
         and a.status in ('created', 'sending', 'unknown', 'succeeded') and a.payment_intent_id = i.id)
   order by i.id`,
);

const captured = scoped<IntentRow>(
  'checkout.captured_intent',
  `select ${intentColumns} from checkout.intent_operations o
   join checkout.payment_intents i on i.account_id = $1 and i.test_mode = $2 and i.id = o.payment_intent_id
   where o.account_id = $1 and o.test_mode = $2 and o.capture_id = $3 order by o.id limit 1`,
);

const standing = scoped<CaptureStandingRow>(
  'checkout.capture_standing',
  `select ${captureStandingColumns} from checkout.sessions s where s.account_id = $1 and s.test_mode = $2 and s.id = $3`,
);

const captureInsert = `
     insert into checkout.captures (account_id, test_mode, id, session_id, cause, status, amount_cents, tax_cents, shipping_cents,
       discount_cents, final, metadata, created_at)
     values ($1, $2, $3, $4, $5, 'pending', $6, $7, $8, $9, $10, $11, $12)`;
const linesInsert = `
     insert into checkout.capture_lines (account_id, test_mode, capture_id, line_id, payment_intent_id, amount_cents)
     select $1, $2, $3, line.id, line.intent, line.amount
     from unnest($13::text[], $14::text[], $15::bigint[]) line (id, intent, amount)`;
const insert = scoped<OperationRow & { status: 'pending' | 'waiting' }>(
  'checkout.capture_insert',
  `with capture as (${captureInsert}), lines as (${linesInsert})
   insert into checkout.intent_operations (account_id, test_mode, id, payment_intent_id, attempt_id, processor_intent_id, kind,
     amount_cents, status, acting_at, lease_until, capture_id, ends_hold, received_before_cents)
   select $1, $2, card.id, i.id, a.id, a.processor_intent_id, 'capture', card.amount,
     case when card.place = 1 then 'pending' else 'waiting' end, $12,
     clock_timestamp() + $20 * interval '1 millisecond', $3, card.ends_hold, i.amount_received_cents
   from unnest($16::text[], $17::text[], $18::bigint[], $19::boolean[]) with ordinality card (id, intent, amount, ends_hold, place)
   join checkout.payment_intents i on i.account_id = $1 and i.test_mode = $2 and i.id = card.intent and i.status = 'requires_capture'
   join checkout.charge_attempts a on a.account_id = $1 and a.test_mode = $2 and a.purpose = 'session' and a.subject_id = $4
     and a.leg = i.leg and a.status = 'succeeded' and a.payment_intent_id = i.id
   returning ${operationColumns}, status`,
);

const parts = scoped<{
  id: string;
  payment_intent_id: string;
  status: 'waiting' | 'pending' | 'done' | 'failed';
  failure_code: string | null;
}>(
  'checkout.capture_parts',
  `select o.id, o.payment_intent_id, o.status, o.failure_code from checkout.intent_operations o
   where o.account_id = $1 and o.test_mode = $2 and o.capture_id = $3 order by o.id`,
);

const begin = scoped(
  'checkout.intent_operation_begin',
  `update checkout.intent_operations set status = 'pending', lease_until = now(), next_check_at = now()
   where account_id = $1 and test_mode = $2 and id = $3 and status = 'waiting'`,
);

const drop = scoped(
  'checkout.intent_operation_drop',
  `update checkout.intent_operations set status = 'failed', failure_code = 'not_sent'
   where account_id = $1 and test_mode = $2 and capture_id = $3 and status = 'waiting'`,
);

const takeLines = scoped(
  'checkout.capture_take_lines',
  `with tenders as (
     update checkout.line_tenders t set captured_cents = t.captured_cents + c.amount_cents
     from checkout.capture_lines c
     where c.account_id = $1 and c.test_mode = $2 and c.capture_id = $3 and c.payment_intent_id = $4
       and t.account_id = $1 and t.test_mode = $2 and t.session_id = $5 and t.line_id = c.line_id and t.payment_intent_id = $4
   )
   update checkout.session_lines l set amount_captured_cents = l.amount_captured_cents + c.amount_cents, payment_intent_id = $4
   from checkout.capture_lines c
   where c.account_id = $1 and c.test_mode = $2 and c.capture_id = $3 and c.payment_intent_id = $4
     and l.account_id = $1 and l.test_mode = $2 and l.id = c.line_id`,
);

const succeed = scoped(
  'checkout.capture_succeed',
  `with capture as (
     update checkout.captures set status = 'succeeded', amount_cents = $4, tax_cents = $5, shipping_cents = $6, discount_cents = $7
     where account_id = $1 and test_mode = $2 and id = $3 and status = 'pending'
     returning session_id
   )
   update checkout.sessions s set captured_tax_cents = s.captured_tax_cents + $5,
     captured_shipping_cents = s.captured_shipping_cents + $6, captured_discount_cents = s.captured_discount_cents + $7
   from capture c where s.account_id = $1 and s.test_mode = $2 and s.id = c.session_id`,
);

const fail = scoped(
  'checkout.capture_fail',
  `update checkout.captures set status = 'failed', failure_code = $4
   where account_id = $1 and test_mode = $2 and id = $3 and status = 'pending'`,
);

const linesOf = scoped<{ line_id: string; payment_intent_id: string; amount_cents: bigint }>(
  'checkout.capture_lines_of',
  `select c.line_id, c.payment_intent_id, c.amount_cents from checkout.capture_lines c
   where c.account_id = $1 and c.test_mode = $2 and c.capture_id = $3`,
);

const adopt = scoped(
  'checkout.capture_adopt',
  `with capture as (${captureInsert}), lines as (${linesInsert})
   update checkout.intent_operations set capture_id = $3 where account_id = $1 and test_mode = $2 and id = $16`,
);
