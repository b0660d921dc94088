import { type Scope, scoped, type Tx } from '@eligo/postgres';
import { centsFromInt64 } from '@eligo/values';
import type { Charge, PaymentIntent } from '../domain/payment-intent.ts';
import type { RefundableLine, RefundComponents } from '../domain/refund-allocation.ts';
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
  const row = await tx.row(lock, scope, [sessionId]);
  if (row === undefined) return undefined;
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

/** Reads it; `subjectId` is the session, or the invoice, or null. */
export async function loadRefundStanding(
  tx: Tx,
  scope: Scope,
  refundId: string,
  purpose: 'session' | 'invoice',
  subjectId: string | null,
): Promise<RefundStanding> {
  const row = await tx.row(standing, scope, [refundId, purpose, subjectId]);
  if (row === undefined) throw new Error('A select returned no row');
  return { isReserved: row.is_reserved, isClosed: row.is_closed, isCharging: row.is_charging };
}

/** A card that paid, with its latest charge. */
export interface PaidCard {
  readonly intent: PaymentIntent;
  readonly charge: Charge | undefined;
  readonly last4: string;
}

/** The cards that paid a session, in the order of their intents' ids. The session's lock keeps them as they are. */
export async function loadPaidCards(tx: Tx, scope: Scope, sessionId: string): Promise<PaidCard[]> {
  return (await tx.rows(ofSession, scope, [sessionId])).map(cardOfRow);
}

/** The card of an intent without a session, locked until the transaction ends; none when it has not paid. */
export async function lockPaidCard(tx: Tx, scope: Scope, intentId: string): Promise<PaidCard[]> {
  return (await tx.rows(ofIntent, scope, [intentId])).map(cardOfRow);
}

/** The lines of a session as a refund sees them, in the cart's order. */
export async function loadRefundableLines(tx: Tx, scope: Scope, sessionId: string): Promise<RefundableLine[]> {
  return (await tx.rows(lines, scope, [sessionId])).map((row) => ({
    id: row.id,
    priceId: row.price_id,
    productId: row.product_id,
    paymentIntentId: row.payment_intent_id,
    capturedCents: centsFromInt64(row.amount_captured_cents),
    refundedCents: centsFromInt64(row.amount_refunded_cents),
    taxCents: centsFromInt64(row.amount_tax_cents),
    shippingCents: centsFromInt64(row.amount_shipping_cents),
    discountCents: centsFromInt64(row.amount_discount_cents),
  }));
}

type ComponentColumn = `${'captured' | 'refunded'}_${'tax' | 'shipping' | 'discount'}_cents`;

const lock = scoped<SessionRow & Record<ComponentColumn, bigint>>(
  'sessions.lock_for_refund',
  `select ${sessionColumns('s')}, s.captured_tax_cents, s.captured_shipping_cents, s.captured_discount_cents,
     s.refunded_tax_cents, s.refunded_shipping_cents, s.refunded_discount_cents
   from checkout.sessions s where s.account_id = $1 and s.test_mode = $2 and s.id = $3 for no key update of s`,
);

const standing = scoped<{ is_reserved: boolean; is_closed: boolean; is_charging: boolean }>(
  'checkout.refund_standing',
  `select
     exists (select from checkout.refund_reservations r where r.account_id = $1 and r.test_mode = $2 and r.refund_id = $3) as is_reserved,
     exists (select from checkout.refund_claims c
       where c.account_id = $1 and c.test_mode = $2 and c.refund_id = $3 and c.claim = 'closed') as is_closed,
     exists (select from checkout.charge_attempts a
       where a.account_id = $1 and a.test_mode = $2 and a.purpose = $4 and a.subject_id = $5
         and a.status in ('created', 'sending', 'unknown'))
     or $4 = 'session' and exists (select from checkout.payment_plans p
       where p.account_id = $1 and p.test_mode = $2 and p.session_id = $5 and p.state in ('running', 'releasing'))
     or $4 = 'session' and exists (select from checkout.captures k
       where k.account_id = $1 and k.test_mode = $2 and k.session_id = $5 and k.status = 'pending') as is_charging`,
);

type CardRow = IntentRow & { last4: string | null } & {
  [Field in keyof ChargeRow as `charge_${Field}`]: ChargeRow[Field] | null;
};

const cards = `select ${intentColumns}, ${chargeFields.map((field) => `c.${field} as charge_${field}`).join(', ')},
     (select m.last4 from checkout.payment_methods m
       where m.account_id = $1 and m.test_mode = $2 and m.id = i.payment_method_id) as last4
   from checkout.payment_intents i
   left join lateral (select * from checkout.charges c
     where c.account_id = $1 and c.test_mode = $2 and c.id = i.latest_charge_id offset 0) c on true
   where i.account_id = $1 and i.test_mode = $2 and i.amount_received_cents > 0`;
const ofSession = scoped<CardRow>('checkout.paid_cards', `${cards} and i.session_id = $3 order by i.id`);
const ofIntent = scoped<CardRow>('checkout.paid_card_locked', `${cards} and i.id = $3 for update of i`);

const lines = scoped<{
  id: string;
  price_id: string;
  product_id: string;
  payment_intent_id: string | null;
  amount_captured_cents: bigint;
  amount_refunded_cents: bigint;
  amount_tax_cents: bigint;
  amount_shipping_cents: bigint;
  amount_discount_cents: bigint;
}>(
  'checkout.refundable_lines',
  `select l.id, l.price_id, l.product_id, l.payment_intent_id, l.amount_captured_cents, l.amount_refunded_cents, l.amount_tax_cents,
     l.amount_shipping_cents, l.amount_discount_cents
   from checkout.session_lines l where l.account_id = $1 and l.test_mode = $2 and l.session_id = $3 order by l.position`,
);

function cardOfRow(row: CardRow): PaidCard {
  const charge = Object.fromEntries(chargeFields.map((field) => [field, row[`charge_${field}`]]));
  return {
    intent: intentOfRow(row),
    charge: row.charge_id === null ? undefined : chargeOfRow(charge as unknown as ChargeRow),
    last4: row.last4 ?? '',
  };
}
