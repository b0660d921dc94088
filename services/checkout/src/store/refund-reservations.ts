import { type NewEvent, outboxInsert, outboxValues } from '@eligo/events';
import { type Db, isUniqueViolation, type Scope, scoped, type Tx } from '@eligo/postgres';
import { type Cents, centsFromInt64, newId } from '@eligo/values';
import type { RefundAllocation, RefundComponents } from '../domain/refund-allocation.ts';

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
const selectParts = scoped<{ payment_intent_id: string; amount_cents: bigint; released: boolean }>(
  'checkout.refund_reservation_parts',
  `select payment_intent_id, amount_cents, released from checkout.refund_reservation_parts
   where account_id = $1 and test_mode = $2 and refund_id = $3 order by payment_intent_id`,
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
     insert into checkout.refund_claims (account_id, test_mode, refund_id, claim) values ($1, $2, $3, 'reserved')
   ), whole as (
     insert into checkout.refund_reservations (account_id, test_mode, refund_id, session_id, payment_intent_id, amount_cents,
       tax_cents, shipping_cents, discount_cents, acting_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
   ), cards as (
     insert into checkout.refund_reservation_parts (account_id, test_mode, refund_id, payment_intent_id, amount_cents)
     select $1, $2, $3, card.id, card.amount from unnest($11::text[], $12::bigint[]) card (id, amount)
   ), entries as (
     insert into checkout.ledger_entries (account_id, test_mode, id, debit_account, credit_account, amount_cents, kind,
       payment_intent_id, source_id, created_at)
     select $1, $2, card.entry, 'customer_receipts', 'refunds_payable', card.amount, 'refund_reserved', card.id, $3, $10
     from unnest($11::text[], $12::bigint[], $13::text[]) card (id, amount, entry)
   ), lines as (
     insert into checkout.refund_reservation_lines (account_id, test_mode, refund_id, line_id, payment_intent_id, amount_cents)
     select $1, $2, $3, line.id, line.intent, line.amount
     from unnest($15::text[], $16::text[], $17::bigint[]) line (id, intent, amount)
   ), refunded_lines as (
     update checkout.session_lines l set amount_refunded_cents = l.amount_refunded_cents + line.amount
     from unnest($15::text[], $17::bigint[]) line (id, amount)
     where l.account_id = $1 and l.test_mode = $2 and l.session_id = $4 and l.id = line.id
   ), refunded_intents as (
     update checkout.payment_intents i set amount_refunded_cents = i.amount_refunded_cents + card.amount
     from unnest($11::text[], $12::bigint[]) card (id, amount)
     where i.account_id = $1 and i.test_mode = $2 and i.id = card.id
   ), refunded_charges as (
     update checkout.charges c set amount_refunded_cents = c.amount_refunded_cents + card.amount
     from unnest($14::text[], $12::bigint[]) card (charge, amount)
     where c.account_id = $1 and c.test_mode = $2 and c.id = card.charge
   ), refunded_session as (
     update checkout.sessions s
        set amount_refunded_cents = s.amount_refunded_cents + $6, refund_ids = array_append(s.refund_ids, $3),
            refunded_tax_cents = s.refunded_tax_cents + $7, refunded_shipping_cents = s.refunded_shipping_cents + $8,
            refunded_discount_cents = s.refunded_discount_cents + $9, version = s.version + 1
      where s.account_id = $1 and s.test_mode = $2 and s.id = $4
   ), told as (${outboxInsert(18, '(select 1) one')})
   select 1`,
);

/**
 * Takes a refund out of what remains, in one statement: its id, its parts and ledger pairs, the lines, cards and charges, the session and the
 * events. The caller holds the session's lock, or that of an intent without a session. The row constraints hold the limits, and the
 * unique constraint on the id (`refundIdIsUsed`) refuses one that has been used.
 */
export async function writeReservation(
  tx: Tx,
  scope: Scope,
  reservation: {
    refundId: string;
    sessionId: string | null;
    paymentIntentId: string | null;
    allocation: RefundAllocation;
    /** The latest charge of each of the allocation's cards. */
    chargeIds: readonly (string | null)[];
    at: Date;
    events: readonly NewEvent[];
  },
): Promise<void> {
  const { allocation } = reservation;
  await tx.execute(write, scope, [
    reservation.refundId,
    reservation.sessionId,
    reservation.paymentIntentId,
    allocation.amount,
    allocation.tax,
    allocation.shipping,
    allocation.discount,
    reservation.at,
    allocation.cards.map((card) => card.paymentIntentId),
    allocation.cards.map((card) => card.amount),
    allocation.cards.map(() => newId('ledger_transaction')),
    reservation.chargeIds,
    allocation.lines.map((line) => line.lineId),
    allocation.lines.map((line) => line.paymentIntentId),
    allocation.lines.map((line) => line.amount),
    ...outboxValues(reservation.events),
  ]);
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
   ), lines as (
     update checkout.session_lines l set amount_refunded_cents = l.amount_refunded_cents - r.amount_cents
     from checkout.refund_reservation_lines r join parts on parts.payment_intent_id = r.payment_intent_id
     where r.account_id = $1 and r.test_mode = $2 and r.refund_id = $3
       and l.account_id = $1 and l.test_mode = $2 and l.id = r.line_id
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
