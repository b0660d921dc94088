import { type Db, type Page, readPage, type Scope, scoped, sqlBuilder, type Tx } from '@eligo/postgres';
import { wakeJobAfterCommit } from '@eligo/service';
import { type Cents, centsFromInt64, type ProcessorAccountRow, processorAccountOfRow } from '@eligo/values';
import { balanceTransactionOf } from '../domain/balance-transaction.ts';
import type { Leg } from '../domain/charge-attempt.ts';
import type { HoldTime } from '../domain/hold.ts';
import type { PaymentIntent, PaymentIntentStatus } from '../domain/payment-intent.ts';
import type { DeclineSource } from '../domain/session-declines.ts';
import { tellJournalAfterMs, tellJournalJob } from './journal.ts';
import { countDeclineText } from './session-declines.ts';

/** A row of `intentColumns`. */
export interface IntentRow extends ProcessorAccountRow {
  id: string;
  session_id: string | null;
  invoice_id: string | null;
  subscription_id: string | null;
  customer_id: string | null;
  payment_method_id: string | null;
  leg: Leg;
  capture_method: 'automatic' | 'manual';
  status: PaymentIntentStatus;
  amount_cents: bigint;
  amount_capturable_cents: bigint;
  amount_received_cents: bigint;
  amount_refunded_cents: bigint;
  amount_disputed_cents: bigint;
  processor_intent_id: string | null;
  latest_charge_id: string | null;
  capture_before: Date | null;
  metadata: Record<string, string>;
  created_at: Date;
}

/** The columns of a payment intent `i`, for every statement that reads whole ones. */
export const intentColumns: string = `i.id, i.session_id, i.invoice_id, i.subscription_id, i.customer_id, i.payment_method_id, i.leg,
  i.capture_method, i.status, i.amount_cents, i.amount_capturable_cents, i.amount_received_cents, i.amount_refunded_cents,
  i.amount_disputed_cents, i.processor, i.processor_account, i.processor_intent_id, i.latest_charge_id, i.capture_before, i.metadata, i.created_at`;

export function intentOfRow(row: IntentRow): PaymentIntent {
  return {
    id: row.id,
    sessionId: row.session_id,
    invoiceId: row.invoice_id,
    subscriptionId: row.subscription_id,
    customerId: row.customer_id,
    paymentMethodId: row.payment_method_id,
    leg: row.leg,
    captureMethod: row.capture_method,
    status: row.status,
    amountCents: centsFromInt64(row.amount_cents),
    amountCapturableCents: centsFromInt64(row.amount_capturable_cents),
    amountReceivedCents: centsFromInt64(row.amount_received_cents),
    amountRefundedCents: centsFromInt64(row.amount_refunded_cents),
    amountDisputedCents: centsFromInt64(row.amount_disputed_cents),
    processorAccount: processorAccountOfRow(row),
    processorIntentId: row.processor_intent_id,
    latestChargeId: row.latest_charge_id,
    captureBefore: row.capture_before,
    metadata: row.metadata,
    createdAt: row.created_at,
  };
}

const byIds = scoped<IntentRow>(
  'checkout.payment_intents_by_ids',
  `select ${intentColumns} from checkout.payment_intents i where i.account_id = $1 and i.test_mode = $2 and i.id = any($3::text[]) order by i.id`,
);
const byId = scoped<IntentRow>(
  'checkout.payment_intent',
  `select ${intentColumns} from checkout.payment_intents i where i.account_id = $1 and i.test_mode = $2 and i.id = $3`,
);

/** The intent, or undefined. */
export async function findIntent(db: Db, scope: Scope, id: string): Promise<PaymentIntent | undefined> {
  const row = await db.row(byId, scope, [id]);
  return row && intentOfRow(row);
}

/** The intents with these ids, in the order of their ids; what is not there is left out. */
export async function findIntents(db: Db, scope: Scope, ids: readonly string[]): Promise<PaymentIntent[]> {
  return (await db.rows(byIds, scope, [ids])).map(intentOfRow);
}

/** A page of payment intents, newest first, of one customer or one session if asked. */
export async function listIntents(
  db: Db,
  scope: Scope,
  page: Page,
  of: { customerId?: string | undefined; sessionId?: string | undefined },
): Promise<{ intents: PaymentIntent[]; hasMore: boolean }> {
  const { rows, hasMore } = await readPage<IntentRow>(
    db,
    scope,
    {
      table: 'checkout.payment_intents',
      id: 'id',
      columns: [sqlBuilder.raw(intentColumns.replaceAll('i.', ''))],
      filter: (query) => {
        if (of.customerId !== undefined) query.where('customer_id', of.customerId);
        if (of.sessionId !== undefined) query.where('session_id', of.sessionId);
      },
    },
    page,
  );
  return { intents: rows.map(intentOfRow), hasMore };
}

/** The charge that the processor reports, to be written with its intent. */
export interface ReportedCharge {
  readonly chargeId: string;
  readonly processorChargeId: string | null;
  readonly at: Date;
}

// Charge, intent and ledger in one statement: a captured cent is never in one of them only.
const capture = scoped<IntentRow>(
  'checkout.payment_intent_capture',
  `with charge as (
     insert into checkout.charges (account_id, test_mode, id, payment_intent_id, payment_method_id, status, amount_cents,
       amount_captured_cents, processor_charge_id, created_at, balance_transaction_id)
     select i.account_id, i.test_mode, $4, i.id, i.payment_method_id, 'succeeded', i.amount_cents, i.amount_cents, $5, $6, $9
     from checkout.payment_intents i where i.account_id = $1 and i.test_mode = $2 and i.id = $3
   ), entry as (
     insert into checkout.ledger_entries (account_id, test_mode, id, debit_account, credit_account, amount_cents, kind,
       payment_intent_id, source_id, created_at)
     select i.account_id, i.test_mode, $7, 'processor_balance', 'customer_receipts', i.amount_cents, 'capture', i.id, $4, $6
     from checkout.payment_intents i where i.account_id = $1 and i.test_mode = $2 and i.id = $3
   )
   update checkout.payment_intents i set status = 'succeeded', amount_received_cents = amount_cents, latest_charge_id = $4,
     processor_intent_id = $8
   where i.account_id = $1 and i.test_mode = $2 and i.id = $3
   returning ${intentColumns}`,
);

/** Records an automatic capture: the charge, the intent and the ledger pair. */
export async function recordCapture(
  tx: Tx,
  scope: Scope,
  intentId: string,
  charge: ReportedCharge,
  entryId: string,
  processorIntentId: string,
): Promise<PaymentIntent> {
  wakeJobAfterCommit(tx, tellJournalJob, tellJournalAfterMs);
  const row = await tx.row(capture, scope, [
    intentId,
    charge.chargeId,
    charge.processorChargeId,
    charge.at,
    entryId,
    processorIntentId,
    balanceTransactionOf(charge.chargeId),
  ]);
  return required(row, intentId);
}

const hold = scoped<IntentRow>(
  'checkout.payment_intent_hold',
  `with charge as (
     insert into checkout.charges (account_id, test_mode, id, payment_intent_id, payment_method_id, status, amount_cents,
       processor_charge_id, created_at)
     select i.account_id, i.test_mode, $4, i.id, i.payment_method_id, 'succeeded', coalesce($10::bigint, i.amount_cents), $5, $6
     from checkout.payment_intents i where i.account_id = $1 and i.test_mode = $2 and i.id = $3
   )
   update checkout.payment_intents i set status = 'requires_capture', amount_cents = coalesce($10::bigint, amount_cents),
     amount_capturable_cents = coalesce($10::bigint, amount_cents),
     latest_charge_id = $4, processor_intent_id = $7, capture_before = $8, hold_check_at = $9
   where i.account_id = $1 and i.test_mode = $2 and i.id = $3
   returning ${intentColumns}`,
);

/** Records an authorization whose money is still to be captured: of all that was asked for, or of `partCents`. */
export async function recordHold(
  tx: Tx,
  scope: Scope,
  intentId: string,
  charge: ReportedCharge & { readonly hold: HoldTime; readonly partCents?: Cents | undefined },
  processorIntentId: string,
): Promise<PaymentIntent> {
  const row = await tx.row(hold, scope, [
    intentId,
    charge.chargeId,
    charge.processorChargeId,
    charge.at,
    processorIntentId,
    charge.hold.captureBefore,
    charge.hold.checkAt,
    charge.partCents ?? null,
  ]);
  return required(row, intentId);
}

const captureHeld = scoped<IntentRow>(
  'checkout.payment_intent_capture_held',
  `with charge as (
     update checkout.charges c set amount_captured_cents = c.amount_captured_cents + $4,
       balance_transaction_id = coalesce(c.balance_transaction_id, $9)
     from checkout.payment_intents i
     where i.account_id = $1 and i.test_mode = $2 and i.id = $3
       and c.account_id = i.account_id and c.test_mode = i.test_mode and c.id = i.latest_charge_id
   ), entry as (
     insert into checkout.ledger_entries (account_id, test_mode, id, debit_account, credit_account, amount_cents, kind,
       payment_intent_id, source_id, created_at)
     values ($1, $2, $6, 'processor_balance', 'customer_receipts', $4, 'capture', $3, $7, $8)
   )
   update checkout.payment_intents i set amount_received_cents = amount_received_cents + $4,
     amount_capturable_cents = case when $5 then amount_capturable_cents - $4 else 0 end,
     status = case when $5 then status else 'succeeded' end
   where i.account_id = $1 and i.test_mode = $2 and i.id = $3
   returning ${intentColumns}`,
);

/** Records that an amount of a hold was captured by `captureId`; what is left of the hold stays if `isStillHeld`. */
export async function recordHeldCapture(
  tx: Tx,
  scope: Scope,
  intentId: string,
  captured: { amountCents: Cents; isStillHeld: boolean; entryId: string; captureId: string; at: Date },
): Promise<PaymentIntent> {
  const { amountCents, isStillHeld, entryId, captureId, at } = captured;
  const balanceTransactionId = balanceTransactionOf(entryId);
  const values = [intentId, amountCents, isStillHeld, entryId, captureId, at, balanceTransactionId];
  wakeJobAfterCommit(tx, tellJournalJob, tellJournalAfterMs);
  const row = await tx.row(captureHeld, scope, values);
  return required(row, intentId);
}

const release = scoped<IntentRow>(
  'checkout.payment_intent_release',
  `update checkout.payment_intents i set amount_capturable_cents = 0,
     status = case when i.amount_received_cents > 0 then 'succeeded' else 'canceled' end
   where i.account_id = $1 and i.test_mode = $2 and i.id = $3 returning ${intentColumns}`,
);

/** Records that what was left of a hold is voided, or that an attempt moved no money and never will. An intent keeps what was captured of it. */
export async function recordRelease(tx: Tx, scope: Scope, intentId: string): Promise<PaymentIntent> {
  return required(await tx.row(release, scope, [intentId]), intentId);
}

const unbill = scoped(
  'checkout.payment_intents_unbill',
  `update checkout.payment_intents set invoice_id = null, subscription_id = null
   where account_id = $1 and test_mode = $2 and session_id = $3 and invoice_id is not null`,
);

/** The invoice and the subscription that a session's intents were to pay for will not be made. */
export async function unbillIntents(tx: Tx, scope: Scope, sessionId: string): Promise<void> {
  await tx.execute(unbill, scope, [sessionId]);
}

const decline = scoped<IntentRow>(
  'checkout.payment_intent_decline',
  `with charge as (
     insert into checkout.charges (account_id, test_mode, id, payment_intent_id, payment_method_id, status, amount_cents,
       failure_code, decline_code, processor_charge_id, created_at)
     select i.account_id, i.test_mode, $4, i.id, i.payment_method_id, 'failed', i.amount_cents, $5, $6, $7, $8
     from checkout.payment_intents i where i.account_id = $1 and i.test_mode = $2 and i.id = $3
   ), declined as (
     ${countDeclineText('$10', '$11')}
   )
   update checkout.payment_intents i set status = 'requires_payment_method', latest_charge_id = $4,
     processor_intent_id = coalesce($9, processor_intent_id)
   where i.account_id = $1 and i.test_mode = $2 and i.id = $3
   returning ${intentColumns}`,
);

/** Records a decline: the failed charge, an intent that wants another card, and one more decline of the session of `counted`, whose row the caller holds. */
export async function recordDecline(
  tx: Tx,
  scope: Scope,
  intentId: string,
  charge: ReportedCharge & { failureCode: string; declineCode: string | null },
  processorIntentId: string | null,
  counted: { readonly sessionId: string; readonly by: DeclineSource } | undefined,
): Promise<PaymentIntent> {
  const row = await tx.row(decline, scope, [
    intentId,
    charge.chargeId,
    charge.failureCode,
    charge.declineCode,
    charge.processorChargeId,
    charge.at,
    processorIntentId,
    counted?.sessionId ?? null,
    counted?.by ?? null,
  ]);
  return required(row, intentId);
}

const addRefunded = scoped<IntentRow>(
  'checkout.payment_intent_refund',
  `with charge as (
     update checkout.charges c set amount_refunded_cents = c.amount_refunded_cents + $4
     from checkout.payment_intents i
     where i.account_id = $1 and i.test_mode = $2 and i.id = $3
       and c.account_id = i.account_id and c.test_mode = i.test_mode and c.id = i.latest_charge_id
   )
   update checkout.payment_intents i set amount_refunded_cents = amount_refunded_cents + $4
   where i.account_id = $1 and i.test_mode = $2 and i.id = $3 returning ${intentColumns}`,
);

/** Adds to what was refunded of an intent and its charge; a negative amount restores the remaining balance after a failed refund. */
export async function moveRefunded(tx: Tx, scope: Scope, intentId: string, amount: Cents): Promise<PaymentIntent> {
  return required(await tx.row(addRefunded, scope, [intentId, amount]), intentId);
}

function required(row: IntentRow | undefined, id: string): PaymentIntent {
  if (row === undefined) throw new Error(`Payment intent ${id} not found`);
  return intentOfRow(row);
}
