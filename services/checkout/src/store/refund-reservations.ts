import { type EncodedEvent, encodedOutboxValues, outboxInsert } from '@eligo/events';
import { type Db, isUniqueViolation, type Scope, scoped, type Tx } from '@eligo/postgres';
import { type Cents, cents, centsFromInt64, newId } from '@eligo/values';
import type { RefundAllocation, RefundComponents } from '../domain/refund-allocation.ts';
import type { RefundedCapture } from '../domain/refunded-captures.ts';
import { keepRestOfLetterFees } from './session-lines.ts';

/** A refund as it was taken out of what remains. */
export interface Reservation extends RefundComponents {
  readonly refundId: string;
  readonly sessionId: string | null;
  readonly paymentIntentId: string | null;
  readonly amountCents: Cents;
  readonly actingAt: Date;
  readonly parts: readonly {
    readonly paymentIntentId: string;
    readonly amountCents: Cents;
    readonly released: boolean;
    /** The captures that it draws from, the oldest first. */
    readonly captures: readonly RefundedCapture[];
  }[];
}

const select = scoped<{
  refund_id: string;
  session_id: string | null;
  payment_intent_id: string | null;
  amount_cents: bigint;
  tax_cents: bigint;
  shipping_cents: bigint;
  discount_cents: bigint;
  acting_at: Date;
}>(
  'checkout.refund_reservation',
  `select refund_id, session_id, payment_intent_id, amount_cents, tax_cents, shipping_cents, discount_cents, acting_at
   from checkout.refund_reservations where account_id = $1 and test_mode = $2 and refund_id = $3`,
);
const selectParts = scoped<{
  payment_intent_id: string;
  amount_cents: bigint;
  released: boolean;
  captures: { capture: string; amount: number }[] | null;
}>(
  'checkout.refund_reservation_parts',
  `select p.payment_intent_id, p.amount_cents, p.released,
     (select jsonb_agg(jsonb_build_object('capture', c.capture_id, 'amount', c.amount_cents) order by c.capture_id)
       from checkout.refund_reservation_captures c
       where c.account_id = $1 and c.test_mode = $2 and c.refund_id = $3 and c.payment_intent_id = p.payment_intent_id) as captures
   from checkout.refund_reservation_parts p
   where p.account_id = $1 and p.test_mode = $2 and p.refund_id = $3 order by p.payment_intent_id`,
);

/** The reservation under a refund's id, or undefined. */
export async function findReservation(db: Db, scope: Scope, refundId: string): Promise<Reservation | undefined> {
  const row = await db.row(select, scope, [refundId]);
  if (row === undefined) return undefined;
  const parts = await db.rows(selectParts, scope, [refundId]);
  return {
    refundId: row.refund_id,
    sessionId: row.session_id,
    paymentIntentId: row.payment_intent_id,
    amountCents: centsFromInt64(row.amount_cents),
    tax: centsFromInt64(row.tax_cents),
    shipping: centsFromInt64(row.shipping_cents),
    discount: centsFromInt64(row.discount_cents),
    actingAt: row.acting_at,
    parts: parts.map((part) => ({
      paymentIntentId: part.payment_intent_id,
      amountCents: centsFromInt64(part.amount_cents),
      released: part.released,
      captures: (part.captures ?? []).map(({ capture, amount }) => ({
        captureId: capture,
        amountCents: cents(amount),
      })),
    })),
  };
}

const close = scoped(
  'checkout.refund_close',
  `insert into checkout.refund_claims (account_id, test_mode, refund_id, claim) values ($1, $2, $3, 'closed') on conflict do nothing`,
);

/** Closes a refund's id for good. Waits for a reservation that is being written; returns false if the id is used. */
export async function closeRefundId(tx: Tx, scope: Scope, refundId: string): Promise<boolean> {
  return (await tx.execute(close, scope, [refundId])) === 1;
}

const write = scoped(
  'checkout.refund_reservation_write',
  `with claim as (
     insert into checkout.refund_claims (account_id, test_mode, refund_id, claim)
     select $1, $2, whole.refund_id, 'reserved' from unnest($3::text[]) whole (refund_id)
   ), whole as (
     insert into checkout.refund_reservations (account_id, test_mode, refund_id, session_id, payment_intent_id, amount_cents,
       tax_cents, shipping_cents, discount_cents, acting_at)
     select $1, $2, whole.*
     from unnest($3::text[], $4::text[], $5::text[], $6::bigint[], $7::bigint[], $8::bigint[], $9::bigint[], $10::timestamptz[]) whole
   ), cards as (
     insert into checkout.refund_reservation_parts (account_id, test_mode, refund_id, payment_intent_id, amount_cents)
     select $1, $2, card.* from unnest($11::text[], $12::text[], $13::bigint[]) card
   ), entries as (
     insert into checkout.ledger_entries (account_id, test_mode, id, debit_account, credit_account, amount_cents, kind,
       payment_intent_id, source_id, created_at)
     select $1, $2, card.entry, 'customer_receipts', 'refunds_payable', card.amount, 'refund_reserved', card.id, card.refund_id, card.at
     from unnest($11::text[], $12::text[], $13::bigint[], $14::text[], $15::timestamptz[]) card (refund_id, id, amount, entry, at)
   ), lines as (
     insert into checkout.refund_reservation_lines (account_id, test_mode, refund_id, line_id, payment_intent_id, amount_cents,
       letter_fee_cents)
     select $1, $2, line.* from unnest($17::text[], $18::text[], $19::text[], $20::bigint[], $26::bigint[]) line
   ), refunded_lines as (
     update checkout.session_lines l set amount_refunded_cents = l.amount_refunded_cents + line.amount,
       letter_fee_refunded_cents = l.letter_fee_refunded_cents + line.fee
     from (select session_id, id, sum(amount) as amount, sum(fee) as fee
       from unnest($21::text[], $18::text[], $20::bigint[], $26::bigint[]) part (session_id, id, amount, fee) group by session_id, id) line
     where l.account_id = $1 and l.test_mode = $2 and l.session_id = line.session_id and l.id = line.id
   ), refunded_tenders as (
     update checkout.line_tenders t set refunded_cents = t.refunded_cents + line.amount
     from unnest($21::text[], $18::text[], $19::text[], $20::bigint[]) line (session_id, id, intent, amount)
     where t.account_id = $1 and t.test_mode = $2 and t.session_id = line.session_id and t.line_id = line.id
       and t.payment_intent_id = line.intent
   ), refunded_intents as (
     update checkout.payment_intents i set amount_refunded_cents = i.amount_refunded_cents + card.amount
     from unnest($12::text[], $13::bigint[]) card (id, amount)
     where i.account_id = $1 and i.test_mode = $2 and i.id = card.id
   ), refunded_charges as (
     update checkout.charges c set amount_refunded_cents = c.amount_refunded_cents + card.amount
     from unnest($16::text[], $13::bigint[]) card (charge, amount)
     where c.account_id = $1 and c.test_mode = $2 and c.id = card.charge
   ), refunded_session as (
     update checkout.sessions s
        set amount_refunded_cents = s.amount_refunded_cents + whole.amount, refund_ids = array_append(s.refund_ids, whole.refund_id),
            refunded_tax_cents = s.refunded_tax_cents + whole.tax, refunded_shipping_cents = s.refunded_shipping_cents + whole.shipping,
            refunded_discount_cents = s.refunded_discount_cents + whole.discount, version = s.version + 1
     from unnest($3::text[], $4::text[], $6::bigint[], $7::bigint[], $8::bigint[], $9::bigint[])
       whole (refund_id, session_id, amount, tax, shipping, discount)
      where s.account_id = $1 and s.test_mode = $2 and s.id = whole.session_id
   ), captures as (
     insert into checkout.refund_reservation_captures (account_id, test_mode, refund_id, payment_intent_id, capture_id, amount_cents)
     select $1, $2, part.* from unnest($22::text[], $23::text[], $24::text[], $25::bigint[]) part
   ), refunded_captures as (
     update checkout.intent_operations o set refunded_cents = o.refunded_cents + part.amount
     from unnest($23::text[], $24::text[], $25::bigint[]) part (intent, capture, amount)
     where o.account_id = $1 and o.test_mode = $2 and o.capture_id = part.capture and o.payment_intent_id = part.intent
       and o.kind = 'capture' and o.status = 'done'
   ), told as (${outboxInsert(27, '(select 1) one')})
   select 1`,
);

/** A refund to be taken out of what remains. */
export interface ReservationWrite {
  readonly refundId: string;
  readonly sessionId: string | null;
  readonly paymentIntentId: string | null;
  readonly allocation: RefundAllocation;
  /** The latest charge of each of the allocation's cards. */
  readonly chargeIds: readonly (string | null)[];
  /** Whether all of it is the letter fee of its lines. */
  readonly isLetterFee: boolean;
  /** What it takes of captures. */
  readonly captures: readonly (RefundedCapture & { readonly cardId: string })[];
  readonly at: Date;
  readonly events: readonly EncodedEvent[];
}

/**
 * Takes refunds out of what remains, in one statement: their ids, their parts and ledger pairs, the lines, cards and charges, the sessions and the
 * events. Another one keeps what the refund of a letter fee leaves of it. The caller holds the lock of each session, or that of an intent without a session; no two are of one session. The row
 * constraints hold the limits, and the unique constraint on the id (`refundIdIsUsed`) refuses one that has been used.
 */
export async function writeReservations(
  tx: Tx,
  scope: Scope,
  reservations: readonly ReservationWrite[],
): Promise<void> {
  const cards = reservations.flatMap(({ refundId, allocation, chargeIds, at }) =>
    allocation.cards.map(({ paymentIntentId, amount }, index) => ({
      ...{ refundId, at, cardId: paymentIntentId, amount },
      chargeId: chargeIds[index] ?? null,
    })),
  );
  const lines = reservations.flatMap(({ allocation, refundId, sessionId, isLetterFee }) =>
    allocation.lines.map((line) => ({ ...line, refundId, sessionId, letterFeeCents: isLetterFee ? line.amount : 0 })),
  );
  const captures = reservations.flatMap((one) => one.captures.map((part) => ({ ...part, refundId: one.refundId })));
  const written = tx.execute(write, scope, [
    reservations.map(({ refundId }) => refundId),
    reservations.map(({ sessionId }) => sessionId),
    reservations.map(({ paymentIntentId }) => paymentIntentId),
    reservations.map(({ allocation }) => allocation.amount),
    reservations.map(({ allocation }) => allocation.tax),
    reservations.map(({ allocation }) => allocation.shipping),
    reservations.map(({ allocation }) => allocation.discount),
    reservations.map(({ at }) => at),
    cards.map(({ refundId }) => refundId),
    cards.map(({ cardId }) => cardId),
    cards.map(({ amount }) => amount),
    cards.map(() => newId('ledger_transaction')),
    cards.map(({ at }) => at),
    cards.map(({ chargeId }) => chargeId),
    lines.map(({ refundId }) => refundId),
    lines.map(({ lineId }) => lineId),
    lines.map(({ paymentIntentId }) => paymentIntentId),
    lines.map(({ amount }) => amount),
    lines.map(({ sessionId }) => sessionId),
    captures.map(({ refundId }) => refundId),
    captures.map(({ cardId }) => cardId),
    captures.map(({ captureId }) => captureId),
    captures.map(({ amountCents }) => amountCents),
    lines.map(({ letterFeeCents }) => letterFeeCents),
    ...encodedOutboxValues(reservations.flatMap(({ events }) => events)),
  ]);
  const ofFees = reservations.flatMap(({ sessionId, isLetterFee }) => (isLetterFee ? (sessionId ?? []) : []));
  await Promise.all([written, ofFees.length === 0 ? undefined : keepRestOfLetterFees(tx, scope, ofFees)]);
}

/** Whether the error says that a refund's id has been used. */
export function refundIdIsUsed(error: unknown): boolean {
  return isUniqueViolation(error, 'refund_claims_pkey');
}

const release = scoped<{ payment_intent_id: string; amount_cents: bigint }>(
  'checkout.refund_reservation_release',
  `with parts as (
     update checkout.refund_reservation_parts set released = true
     where account_id = $1 and test_mode = $2 and refund_id = $3 and not released
       and (cardinality($4::text[]) = 0 or payment_intent_id = any($4::text[]))
     returning payment_intent_id, amount_cents
   ), released as (
     select r.line_id, r.payment_intent_id, r.amount_cents, r.letter_fee_cents
     from checkout.refund_reservation_lines r join parts on parts.payment_intent_id = r.payment_intent_id
     where r.account_id = $1 and r.test_mode = $2 and r.refund_id = $3
   ), lines as (
     update checkout.session_lines l set amount_refunded_cents = l.amount_refunded_cents - r.amount_cents,
       letter_fee_refunded_cents = l.letter_fee_refunded_cents - r.letter_fee_cents,
       letter_fee_given_back_cents = l.letter_fee_given_back_cents - r.letter_fee_cents
     from (select line_id, sum(amount_cents) as amount_cents, sum(letter_fee_cents) as letter_fee_cents from released group by line_id) r
     where l.account_id = $1 and l.test_mode = $2 and l.id = r.line_id
     returning l.session_id, l.id
   ), tenders as (
     update checkout.line_tenders t set refunded_cents = t.refunded_cents - r.amount_cents
     from released r join lines l on l.id = r.line_id
     where t.account_id = $1 and t.test_mode = $2 and t.session_id = l.session_id and t.line_id = l.id
       and t.payment_intent_id = r.payment_intent_id
   ), captures as (
     update checkout.intent_operations o set refunded_cents = o.refunded_cents - c.amount_cents
     from checkout.refund_reservation_captures c join parts on parts.payment_intent_id = c.payment_intent_id
     where c.account_id = $1 and c.test_mode = $2 and c.refund_id = $3 and o.account_id = $1 and o.test_mode = $2
       and o.capture_id = c.capture_id and o.payment_intent_id = c.payment_intent_id and o.kind = 'capture' and o.status = 'done'
   )
   select payment_intent_id, amount_cents from parts order by payment_intent_id`,
);
const releaseEntry = scoped(
  'checkout.refund_reservation_release_entry',
  `insert into checkout.ledger_entries (account_id, test_mode, id, debit_account, credit_account, amount_cents, kind,
     payment_intent_id, source_id, created_at)
   values ($1, $2, $3, 'refunds_payable', 'customer_receipts', $4, 'refund_released', $5, $6, $7)`,
);

/** Restores the remaining balance of cards (all, if none are named), once each, with their ledger pairs; returns those that it restored. */
export async function releaseReservation(
  tx: Tx,
  scope: Scope,
  refundId: string,
  paymentIntentIds: readonly string[],
  at: Date,
): Promise<{ paymentIntentId: string; amountCents: Cents }[]> {
  const rows = await tx.rows(release, scope, [refundId, paymentIntentIds]);
  await Promise.all(
    rows.map((row) =>
      tx.execute(releaseEntry, scope, [
        newId('ledger_transaction'),
        row.amount_cents,
        row.payment_intent_id,
        refundId,
        at,
      ]),
    ),
  );
  return rows.map((row) => ({
    paymentIntentId: row.payment_intent_id,
    amountCents: centsFromInt64(row.amount_cents),
  }));
}

const moveComponents = scoped(
  'checkout.session_refund_components_move',
  `update checkout.sessions set refunded_tax_cents = refunded_tax_cents + $4,
     refunded_shipping_cents = refunded_shipping_cents + $5, refunded_discount_cents = refunded_discount_cents + $6
   where account_id = $1 and test_mode = $2 and id = $3`,
);

/** Adds to what was refunded of a session's components; negative amounts give it back. */
export async function moveRefundComponents(
  tx: Tx,
  scope: Scope,
  sessionId: string,
  amounts: { tax: number; shipping: number; discount: number },
): Promise<void> {
  await tx.execute(moveComponents, scope, [sessionId, amounts.tax, amounts.shipping, amounts.discount]);
}
