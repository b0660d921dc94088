import { type Db, type Scope, scoped, type Tx } from '@eligo/postgres';
import { cents, centsFromInt64 } from '@eligo/values';
import type { LineWithFees } from '../domain/letter-fee.ts';
import { linesOfTenders } from '../domain/line-tenders.ts';
import type { Charge, PaymentIntent } from '../domain/payment-intent.ts';
import type { RecurringCost } from '../domain/recurring-lines.ts';
import type { RefundableLine, RefundComponents } from '../domain/refund-allocation.ts';
import type { CaptureOfCard } from '../domain/refunded-captures.ts';
import type { Session } from '../domain/session.ts';
import { type ChargeRow, chargeFields, chargeOfRow } from './charges.ts';
import { type IntentRow, intentColumns, intentOfRow } from './payment-intents.ts';
import { type SessionRow, sessionColumns, sessionOfRow } from './sessions.ts';

/** A session that is being refunded, with what was captured and has been refunded of its components. */
export interface RefundedSession {
  readonly session: Session;
  readonly captured: RefundComponents;
  readonly refunded: RefundComponents;
}

/** The session, locked until the transaction ends, or undefined. What is read of it behind this lock is as the last refund left it. */
export async function lockRefundedSession(
  tx: Tx,
  scope: Scope,
  sessionId: string,
): Promise<RefundedSession | undefined> {
  return (await lockRefundedSessions(tx, scope, [sessionId]))[0];
}

/** The same of several sessions, locked in the order of their ids. A session that does not exist is left out. */
export async function lockRefundedSessions(
  tx: Tx,
  scope: Scope,
  sessionIds: readonly string[],
): Promise<RefundedSession[]> {
  return (await tx.rows(lock, scope, [sessionIds])).map(refundedSessionOfRow);
}

function refundedSessionOfRow(row: LockedRow): RefundedSession {
  const part = (kind: 'captured' | 'refunded'): RefundComponents => ({
    tax: centsFromInt64(row[`${kind}_tax_cents`]),
    shipping: centsFromInt64(row[`${kind}_shipping_cents`]),
    discount: centsFromInt64(row[`${kind}_discount_cents`]),
  });
  return { session: sessionOfRow(row), captured: part('captured'), refunded: part('refunded') };
}

/** How things stand for a refund: whether its id has been used, and whether a charge of what it refunds is unsettled. */
export interface RefundStanding {
  readonly isReserved: boolean;
  readonly isClosed: boolean;
  readonly isCharging: boolean;
}

/** Reads it for each refund, by its id; `subjectId` is the session, or the invoice, or null. */
export async function loadRefundStandings(
  tx: Tx,
  scope: Scope,
  purpose: 'session' | 'invoice',
  refunds: readonly { readonly refundId: string; readonly subjectId: string | null }[],
): Promise<ReadonlyMap<string, RefundStanding>> {
  const rows = await tx.rows(standings, scope, [
    refunds.map(({ refundId }) => refundId),
    refunds.map(({ subjectId }) => subjectId),
    purpose,
  ]);
  return new Map(
    rows.map((row) => [
      row.refund_id,
      { isReserved: row.is_reserved, isClosed: row.is_closed, isCharging: row.is_charging },
    ]),
  );
}

/** A card that paid, with its latest charge. */
export interface PaidCard {
  readonly intent: PaymentIntent;
  readonly charge: Charge | undefined;
  readonly last4: string;
  /** What was captured of it after its hold, the oldest capture first; none of a card that was charged at once. */
  readonly captures: readonly CaptureOfCard[];
}

/** The cards that paid some sessions, in the order of their intents' ids. The sessions' locks keep them as they are. */
export async function loadPaidCards(tx: Tx, scope: Scope, sessionIds: readonly string[]): Promise<PaidCard[]> {
  return (await tx.rows(ofSessions, scope, [sessionIds])).map(cardOfRow);
}

/** The card of an intent without a session, locked until the transaction ends; none when it has not paid. */
export async function lockPaidCard(tx: Tx, scope: Scope, intentId: string): Promise<PaidCard[]> {
  return (await tx.rows(ofIntent, scope, [intentId])).map(cardOfRow);
}

/** A line with its session. */
export interface LineOfSession extends RefundableLine {
  readonly sessionId: string;
}

/**
 * The lines of some sessions as a refund sees them, each session's in the cart's order: one that was captured on two cards once for each, the health card
 * first.
 */
export async function loadRefundableLines(
  db: Db,
  scope: Scope,
  sessionIds: readonly string[],
): Promise<LineOfSession[]> {
  const rows = await db.rows(lines, scope, [sessionIds]);
  return rows.flatMap((row, index) => {
    if (row.tender_intent_id === null) return lineOfRow(row);
    if (rows[index - 1]?.id === row.id) return [];
    return tenderedLines(
      row,
      rows.filter(({ id }) => id === row.id),
    );
  });
}

function lineOfRow(row: LineRow): LineOfSession {
  return {
    sessionId: row.session_id,
    id: row.id,
    priceId: row.price_id,
    productId: row.product_id,
    paymentIntentId: row.payment_intent_id,
    capturedCents: centsFromInt64(row.amount_captured_cents),
    refundedCents: centsFromInt64(row.amount_refunded_cents),
    taxCents: centsFromInt64(row.amount_tax_cents),
    shippingCents: centsFromInt64(row.amount_shipping_cents),
    discountCents: centsFromInt64(row.amount_discount_cents),
    isFree: row.amount_total_cents === 0n,
    recurring: recurringOf(row),
    whole: wholeOf(row),
  };
}

function wholeOf(row: LineRow): LineWithFees {
  return {
    id: row.id,
    amountSubtotalCents: centsFromInt64(row.amount_subtotal_cents),
    amountDiscountCents: centsFromInt64(row.amount_discount_cents),
    amountFeeCents: centsFromInt64(row.amount_fee_cents),
    amountTotalCents: centsFromInt64(row.amount_total_cents),
    amountCapturedCents: centsFromInt64(row.amount_captured_cents),
    amountRefundedCents: centsFromInt64(row.amount_refunded_cents),
    letterFeeGivenBackCents: centsFromInt64(row.letter_fee_given_back_cents),
    letterFeeRefundedCents: centsFromInt64(row.letter_fee_refunded_cents),
  };
}

function recurringOf({ recurring_interval, amount_total_cents, amount_fee_cents }: LineRow): RecurringCost | undefined {
  if (recurring_interval === null) return undefined;
  return { totalCents: centsFromInt64(amount_total_cents), feeCents: centsFromInt64(amount_fee_cents) };
}

function tenderedLines(row: LineRow, tenders: readonly LineRow[]): LineOfSession[] {
  const parts = tenders.map((tender) => ({
    paymentIntentId: tender.tender_intent_id ?? '',
    amountCents: centsFromInt64(tender.tender_cents ?? 0n),
    limitCents: centsFromInt64(tender.tender_captured_cents ?? 0n),
    takenCents: centsFromInt64(tender.tender_refunded_cents ?? 0n),
  }));
  return linesOfTenders(lineOfRow(row), parts).map(({ limitCents, takenCents, ...line }) => ({
    ...line,
    ...{ sessionId: row.session_id, capturedCents: limitCents, refundedCents: takenCents },
    ...{ recurring: recurringOf(row), whole: wholeOf(row) },
  }));
}

type ComponentColumn = `${'captured' | 'refunded'}_${'tax' | 'shipping' | 'discount'}_cents`;

type LockedRow = SessionRow & Record<ComponentColumn, bigint>;

const lock = scoped<LockedRow>(
  'sessions.lock_for_refund',
  `select ${sessionColumns('s')}, s.captured_tax_cents, s.captured_shipping_cents, s.captured_discount_cents,
     s.refunded_tax_cents, s.refunded_shipping_cents, s.refunded_discount_cents
   from checkout.sessions s where s.account_id = $1 and s.test_mode = $2 and s.id = any($3::text[]) order by s.id for no key update of s`,
);

// `offset 0` keeps each look-up a look-up: the planner would read and hash the whole account's rows instead, for several refunds at once.
const standings = scoped<{ refund_id: string; is_reserved: boolean; is_closed: boolean; is_charging: boolean }>(
  'checkout.refund_standings',
  `select w.refund_id,
     exists (select from checkout.refund_reservations r where r.account_id = $1 and r.test_mode = $2 and r.refund_id = w.refund_id offset 0) as is_reserved,
     exists (select from checkout.refund_claims c
       where c.account_id = $1 and c.test_mode = $2 and c.refund_id = w.refund_id and c.claim = 'closed' offset 0) as is_closed,
     exists (select from checkout.charge_attempts a
       where a.account_id = $1 and a.test_mode = $2 and a.purpose = $5 and a.subject_id = w.subject_id
         and a.status in ('created', 'sending', 'unknown') offset 0)
     or $5 = 'session' and exists (select from checkout.payment_plans p
       where p.account_id = $1 and p.test_mode = $2 and p.session_id = w.subject_id and p.state in ('running', 'releasing') offset 0)
     or $5 = 'session' and exists (select from checkout.captures k
       where k.account_id = $1 and k.test_mode = $2 and k.session_id = w.subject_id and k.status = 'pending' offset 0) as is_charging
   from unnest($3::text[], $4::text[]) as w (refund_id, subject_id)`,
);

interface CaptureFacts {
  readonly capture: string;
  readonly amount: number;
  readonly refunded: number;
  readonly lines: readonly { readonly line: string; readonly amount: number }[] | null;
}

type CardRow = IntentRow & { last4: string | null; captures: readonly CaptureFacts[] | null } & {
  [Field in keyof ChargeRow as `charge_${Field}`]: ChargeRow[Field] | null;
};

const cards = `select ${intentColumns}, ${chargeFields.map((field) => `c.${field} as charge_${field}`).join(', ')},
     (select m.last4 from checkout.payment_methods m
       where m.account_id = $1 and m.test_mode = $2 and m.id = i.payment_method_id) as last4,
     (select jsonb_agg(jsonb_build_object('capture', o.capture_id, 'amount', o.amount_cents, 'refunded', o.refunded_cents, 'lines',
         (select jsonb_agg(jsonb_build_object('line', l.line_id, 'amount', l.amount_cents)) from checkout.capture_lines l
           where l.account_id = $1 and l.test_mode = $2 and l.capture_id = o.capture_id and l.payment_intent_id = i.id)) order by o.capture_id)
       from checkout.captures k
       join checkout.intent_operations o on o.account_id = $1 and o.test_mode = $2 and o.capture_id = k.id and o.payment_intent_id = i.id
       where k.account_id = $1 and k.test_mode = $2 and k.session_id = i.session_id and o.kind = 'capture' and o.status = 'done') as captures
   from checkout.payment_intents i
   left join lateral (select * from checkout.charges c
     where c.account_id = $1 and c.test_mode = $2 and c.id = i.latest_charge_id offset 0) c on true
   where i.account_id = $1 and i.test_mode = $2 and i.amount_received_cents > 0`;
const ofSessions = scoped<CardRow>('checkout.paid_cards', `${cards} and i.session_id = any($3::text[]) order by i.id`);
const ofIntent = scoped<CardRow>('checkout.paid_card_locked', `${cards} and i.id = $3 for update of i`);

interface LineRow {
  session_id: string;
  id: string;
  price_id: string;
  product_id: string;
  payment_intent_id: string | null;
  amount_captured_cents: bigint;
  amount_refunded_cents: bigint;
  amount_tax_cents: bigint;
  amount_shipping_cents: bigint;
  amount_discount_cents: bigint;
  amount_total_cents: bigint;
  amount_fee_cents: bigint;
  amount_subtotal_cents: bigint;
  letter_fee_given_back_cents: bigint;
  letter_fee_refunded_cents: bigint;
  recurring_interval: string | null;
  tender_intent_id: string | null;
  tender_cents: bigint | null;
  tender_captured_cents: bigint | null;
  tender_refunded_cents: bigint | null;
}

const lines = scoped<LineRow>(
  'checkout.refundable_lines',
  `select l.session_id, l.id, l.price_id, l.product_id, l.payment_intent_id, l.amount_captured_cents, l.amount_refunded_cents, l.amount_tax_cents,
     l.amount_shipping_cents, l.amount_discount_cents, l.amount_total_cents, l.amount_fee_cents, l.amount_subtotal_cents, l.letter_fee_given_back_cents,
     l.letter_fee_refunded_cents, l.recurring_interval,
     t.payment_intent_id as tender_intent_id, t.amount_cents as tender_cents, t.captured_cents as tender_captured_cents,
     t.refunded_cents as tender_refunded_cents
   from checkout.session_lines l
   left join checkout.line_tenders t on t.account_id = $1 and t.test_mode = $2 and t.session_id = l.session_id and t.line_id = l.id
     and t.captured_cents > 0
   left join checkout.payment_intents i on i.account_id = $1 and i.test_mode = $2 and i.id = t.payment_intent_id
   where l.account_id = $1 and l.test_mode = $2 and l.session_id = any($3::text[]) order by l.session_id, l.position, i.leg`,
);

function cardOfRow(row: CardRow): PaidCard {
  const charge = Object.fromEntries(chargeFields.map((field) => [field, row[`charge_${field}`]]));
  return {
    intent: intentOfRow(row),
    charge: row.charge_id === null ? undefined : chargeOfRow(charge as unknown as ChargeRow),
    last4: row.last4 ?? '',
    captures: (row.captures ?? []).map(({ capture, amount, refunded, lines }) => ({
      captureId: capture,
      amountCents: cents(amount),
      refundedCents: cents(refunded),
      lines: (lines ?? []).map((line) => ({ lineId: line.line, amountCents: line.amount })),
    })),
  };
}
