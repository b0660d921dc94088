import { maxGroupSize, type Scope, type StoredAnswer, scoped, type Tx } from '@eligo/postgres';
import { wakeJobAfterCommit } from '@eligo/service';
import { newId } from '@eligo/values';
import { balanceTransactionOf } from '../domain/balance-transaction.ts';
import type { Charge, PaymentIntent } from '../domain/payment-intent.ts';
import type { Session, SessionLine } from '../domain/session.ts';
import { sessionStates } from '../domain/session-states.ts';
import {
  type CaptureStanding,
  type CaptureStandingRow,
  captureStandingColumns,
  captureStandingOf,
  type NewCapture,
} from './captures.ts';
import { type ChargeRow, chargeFields, chargeOfRow } from './charges.ts';
import { type IntentOperation, type OperationRow, operationColumns, operationOfRow } from './intent-operations.ts';
import { tellJournalAfterMs, tellJournalJob } from './journal.ts';
import { answerColumns, answerText, withAnswers } from './key-answers.ts';
import { type IntentRow, intentColumns, intentOfRow } from './payment-intents.ts';
import { unlockText } from './payment-locks.ts';
import { donePlanText, type PaymentPlan } from './payment-plans.ts';
import { loadLinesOfSessions } from './session-lines.ts';

/** A card that is held, with its charge. */
export interface HeldCharge {
  readonly intent: PaymentIntent;
  readonly charge: Charge;
}

/** What a capture of a session depends on beside the session itself. */
export interface CaptureFacts extends CaptureStanding {
  readonly cards: readonly HeldCharge[];
  readonly lines: readonly SessionLine[];
  /** A line is paid with two cards. */
  readonly hasTenders: boolean;
}

/** Reads it for some sessions, of which the caller holds the rows, by session. */
export async function loadCaptureFacts(
  tx: Tx,
  scope: Scope,
  sessionIds: readonly string[],
): Promise<ReadonlyMap<string, CaptureFacts>> {
  const [cards, standings, lines] = await Promise.all([
    tx.rows(held, scope, [sessionIds]),
    tx.rows(standing, scope, [sessionIds]),
    loadLinesOfSessions(tx, scope, sessionIds),
  ]);
  const cardsOf = Map.groupBy(cards, (row) => row.session_id);
  const linesOf = Map.groupBy(lines, ({ sessionId }) => sessionId);
  return new Map(
    standings.map((row) => [
      row.session_id,
      {
        ...captureStandingOf(row),
        hasTenders: row.has_tenders,
        cards: (cardsOf.get(row.session_id) ?? []).map((card) => ({
          intent: intentOfRow(card),
          charge: heldChargeOf(card),
        })),
        lines: linesOf.get(row.session_id) ?? [],
      },
    ]),
  );
}

/**
 * Writes some captures of one card each, at most 16, and answers their operations at the processor, in the same order and under leases. Undefined when a card holds
 * nothing any more: the caller rolls back. It holds the rows of the sessions.
 */
export async function insertCaptures(
  tx: Tx,
  scope: Scope,
  captures: readonly NewCapture[],
  leaseMs: number,
): Promise<IntentOperation[] | undefined> {
  const rows = await tx.rows(insert, scope, [
    JSON.stringify(captures.map(captureRow)),
    JSON.stringify(captures.flatMap(({ id, allocation }) => allocation.lines.map((line) => lineRow(id, line)))),
    leaseMs,
  ]);
  const byCapture = new Map(rows.map((row) => [row.capture_id, operationOfRow(row)]));
  const operations = captures.flatMap(({ id }) => byCapture.get(id) ?? []);
  return operations.length === captures.length ? operations : undefined;
}

/** All that a capture changes that takes everything that its session holds on one card. */
export interface CapturedHold {
  readonly before: Session;
  readonly after: Session;
  readonly capture: NewCapture;
  readonly operationId: string;
  /** As they are from now on. */
  readonly intent: PaymentIntent;
  readonly charge: Charge;
  /** The id of the ledger's entry for the capture. */
  readonly ledgerEntryId: string;
  /** What the request's key answers with from now on; undefined for a capture of the page. */
  readonly answer: StoredAnswer | undefined;
  /** The plan that the capture ends, of a payment on the page. */
  readonly plan: Pick<PaymentPlan, 'id' | 'epoch'> | undefined;
}

/**
 * Writes what some captures change, at most 16, with one statement. False when a session, a hold or a capture was changed since it was read: the caller then
 * rolls back and settles from the rows as they are.
 */
export async function settleCaptured(tx: Tx, scope: Scope, holds: readonly CapturedHold[]): Promise<boolean> {
  wakeJobAfterCommit(tx, tellJournalJob, tellJournalAfterMs);
  const written = await tx.row(settle, scope, withAnswers(holds, settledRow));
  return written?.intents === BigInt(holds.length);
}

/** The same for captures that end payments on the page. False also when another process works on a plan by now. */
export async function settleCapturedOnPage(tx: Tx, scope: Scope, holds: readonly CapturedHold[]): Promise<boolean> {
  const rows = holds.map((hold) => ({
    ...settledRow(hold),
    ...{ plan_id: hold.plan?.id, plan_epoch: hold.plan?.epoch },
  }));
  wakeJobAfterCommit(tx, tellJournalJob, tellJournalAfterMs);
  const written = await tx.row(settleOnPage, scope, [JSON.stringify(rows)]);
  return written?.intents === BigInt(holds.length) && written.plans === BigInt(holds.length);
}

type HeldRow = IntentRow & { session_id: string } & {
  [Field in keyof ChargeRow as `charge_${Field}`]: ChargeRow[Field];
};

// The offset keeps the condition on the status out of the look for a session's intents, which else goes through all holds where those are few.
const held = scoped<HeldRow>(
  'checkout.held_charges',
  `select ${intentColumns}, ${chargeFields.map((field) => `c.${field} as charge_${field}`).join(', ')}
   from unnest($3::text[]) wanted (session_id)
   cross join lateral (
     select * from checkout.payment_intents o
      where o.account_id = $1 and o.test_mode = $2 and o.session_id = wanted.session_id offset 0) i
   join checkout.charges c on c.account_id = $1 and c.test_mode = $2 and c.id = i.latest_charge_id
   where i.status = 'requires_capture'
     and exists (
       select from checkout.charge_attempts a
       where a.account_id = $1 and a.test_mode = $2 and a.purpose = 'session' and a.subject_id = i.session_id and a.leg = i.leg
         and a.status in ('created', 'sending', 'unknown', 'succeeded') and a.payment_intent_id = i.id)
   order by i.id`,
);

const standing = scoped<CaptureStandingRow & { session_id: string; has_tenders: boolean }>(
  'checkout.capture_standings',
  `select s.id as session_id, ${captureStandingColumns},
     exists (select from checkout.line_tenders t
       where t.account_id = $1 and t.test_mode = $2 and t.session_id = s.id offset 0) as has_tenders
   from checkout.sessions s where s.account_id = $1 and s.test_mode = $2 and s.id = any($3::text[])`,
);

// The offset keeps the condition on the status out of the look for the intent, which else goes through all holds of the account.
const insert = scoped<OperationRow>(
  'checkout.captures_insert',
  `with wanted as materialized (
     select c.* from json_to_recordset($3::json) as c (
       id text, session_id text, cause text, amount bigint, tax bigint, shipping bigint, discount bigint, final boolean, metadata jsonb,
       at timestamptz, operation_id text, intent_id text, ends_hold boolean)
     limit ${maxGroupSize}
   ), capture as (
     insert into checkout.captures (account_id, test_mode, id, session_id, cause, status, amount_cents, tax_cents, shipping_cents,
       discount_cents, final, metadata, created_at)
     select $1, $2, id, session_id, cause, 'pending', amount, tax, shipping, discount, final, metadata, at from wanted
   ), lines as (
     insert into checkout.capture_lines (account_id, test_mode, capture_id, line_id, payment_intent_id, amount_cents)
     select $1, $2, line.capture_id, line.line_id, line.intent_id, line.amount
     from json_to_recordset($4::json) as line (capture_id text, line_id text, intent_id text, amount bigint)
   )
   insert into checkout.intent_operations (account_id, test_mode, id, payment_intent_id, attempt_id, processor_intent_id, kind,
     amount_cents, status, acting_at, lease_until, capture_id, ends_hold, received_before_cents)
   select $1, $2, c.operation_id, i.id, a.id, a.processor_intent_id, 'capture', c.amount, 'pending', c.at,
     clock_timestamp() + $5::float8 * interval '1 millisecond', c.id, c.ends_hold, i.amount_received_cents
   from wanted c
   cross join lateral (
     select * from checkout.payment_intents i where i.account_id = $1 and i.test_mode = $2 and i.id = c.intent_id offset 0
   ) i
   join checkout.charge_attempts a on a.account_id = $1 and a.test_mode = $2 and a.purpose = 'session' and a.subject_id = c.session_id
     and a.leg = i.leg and a.status = 'succeeded' and a.payment_intent_id = i.id
   where i.status = 'requires_capture'
   returning ${operationColumns}`,
);

// One statement for all captures of a group. The sessions come first and all else depends on them, so that rows are locked in the order that every writer
// keeps. The limit is the group's own; without it the planner expects a hundred rows of JSON.
const settleText = (name: string, { columns, parts, counted }: { columns: string; parts: string; counted: string }) =>
  scoped<{ intents: bigint; plans: bigint }>(
    name,
    `with captured as materialized (
     select c.* from json_to_recordset($3::json) as c (
       session_id text, version bigint, status_before text, status text, received bigint, capture_ids text[], completed_at timestamptz,
       capture_id text, operation_id text, intent_id text, charge_id text, amount bigint, tax bigint, shipping bigint, discount bigint,
       entry_id text, balance_transaction_id text, at timestamptz, ${columns})
     limit ${maxGroupSize}
   ), session as (
     update checkout.sessions s set status = c.status, amount_received_cents = c.received, capture_ids = c.capture_ids, next_action = null,
       completed_at = c.completed_at, captured_tax_cents = s.captured_tax_cents + c.tax,
       captured_shipping_cents = s.captured_shipping_cents + c.shipping,
       captured_discount_cents = s.captured_discount_cents + c.discount, version = s.version + 1
     from captured c
     where s.account_id = $1 and s.test_mode = $2 and s.id = c.session_id and s.version = c.version and s.status = c.status_before
     returning c.*
   ), operation as (
     update checkout.intent_operations o set status = 'done'
     from session c
     where o.account_id = $1 and o.test_mode = $2 and o.id = c.operation_id and o.status = 'pending'
     returning c.*
   ), capture as (
     update checkout.captures p set status = 'succeeded'
     from operation c
     where p.account_id = $1 and p.test_mode = $2 and p.id = c.capture_id and p.status = 'pending'
     returning c.*
   ), intent as (
     update checkout.payment_intents i set status = 'succeeded', amount_received_cents = i.amount_received_cents + c.amount,
       amount_capturable_cents = 0
     from capture c
     where i.account_id = $1 and i.test_mode = $2 and i.id = c.intent_id and i.status = 'requires_capture'
     returning c.*
   ), charge as (
     update checkout.charges h set amount_captured_cents = h.amount_captured_cents + c.amount,
       balance_transaction_id = case when h.balance_transaction_id is null then c.balance_transaction_id else h.balance_transaction_id end
     from intent c
     where h.account_id = $1 and h.test_mode = $2 and h.id = c.charge_id
   ), entry as (
     insert into checkout.ledger_entries (account_id, test_mode, id, debit_account, credit_account, amount_cents, kind,
       payment_intent_id, source_id, created_at)
     select $1, $2, c.entry_id, 'processor_balance', 'customer_receipts', c.amount, 'capture', c.intent_id, c.capture_id, c.at
     from intent c
   ), lines as (
     update checkout.session_lines l set amount_captured_cents = l.amount_captured_cents + t.amount_cents, payment_intent_id = c.intent_id
     from intent c
     join checkout.capture_lines t on t.account_id = $1 and t.test_mode = $2 and t.capture_id = c.capture_id
     where l.account_id = $1 and l.test_mode = $2 and l.id = t.line_id
   ), ${parts}
   select count(*) as intents, ${counted} as plans from intent`,
  );
const settle = settleText('checkout.settle_captured', {
  columns: answerColumns,
  parts: `plan as (
     update checkout.payment_plans p set state = 'done', epoch = p.epoch + 1
     from session c
     where p.account_id = $1 and p.test_mode = $2 and p.session_id = c.session_id and p.state = 'awaiting_capture'
   ), ${answerText('c.capture_id', 'intent c')}`,
  counted: '0::bigint',
});
// A page's cards are locked for its plan, and no key waits for the answer.
const settleOnPage = settleText('checkout.settle_captured_on_page', {
  columns: 'plan_id text, plan_epoch integer',
  parts: `${unlockText('c.plan_id', 'intent c')}, ${donePlanText('intent c')}`,
  counted: '(select count(*) from plan)',
});

function heldChargeOf(row: HeldRow): Charge {
  return chargeOfRow({
    id: row.charge_id,
    payment_intent_id: row.charge_payment_intent_id,
    payment_method_id: row.charge_payment_method_id,
    status: row.charge_status,
    amount_cents: row.charge_amount_cents,
    amount_captured_cents: row.charge_amount_captured_cents,
    amount_refunded_cents: row.charge_amount_refunded_cents,
    failure_code: row.charge_failure_code,
    decline_code: row.charge_decline_code,
    balance_transaction_id: row.charge_balance_transaction_id,
    disputed: row.charge_disputed,
    created_at: row.charge_created_at,
  });
}

function captureRow({ allocation, ...capture }: NewCapture) {
  const [card, ...others] = allocation.cards;
  if (card === undefined || others.length > 0) throw new Error(`Capture ${capture.id} is not of one card`);
  return {
    id: capture.id,
    session_id: capture.sessionId,
    cause: capture.cause,
    amount: allocation.amount,
    tax: allocation.tax,
    shipping: allocation.shipping,
    discount: allocation.discount,
    final: allocation.isFinal,
    metadata: capture.metadata,
    at: capture.at,
    operation_id: newId('intent_operation'),
    intent_id: card.intent.id,
    ends_hold: card.endsHold,
  };
}

function lineRow(captureId: string, line: NewCapture['allocation']['lines'][number]) {
  return { capture_id: captureId, line_id: line.lineId, intent_id: line.paymentIntentId, amount: line.amount };
}

// Under the names of the statement's columns.
function settledRow({ before, after, capture, operationId, intent, charge, ledgerEntryId }: CapturedHold) {
  sessionStates.assertMove(before.status, after.status);
  const { amount, tax, shipping, discount } = capture.allocation;
  return {
    session_id: before.id,
    version: String(before.version),
    status_before: before.status,
    status: after.status,
    received: after.amountReceivedCents,
    capture_ids: after.captureIds,
    completed_at: after.completedAt,
    capture_id: capture.id,
    operation_id: operationId,
    intent_id: intent.id,
    charge_id: charge.id,
    ...{ amount, tax, shipping, discount },
    entry_id: ledgerEntryId,
    balance_transaction_id: balanceTransactionOf(ledgerEntryId),
    at: capture.at,
  };
}
