import { type Db, type Scope, scoped, type Tx } from '@eligo/postgres';
import { type Cents, centsFromInt64 } from '@eligo/values';
import { enteredDiscount } from '../domain/repricing.ts';
import type { Session, SessionDetails, SessionDiscount, SessionFee } from '../domain/session.ts';
import { sessionStates } from '../domain/session-states.ts';

/** The session, or undefined. */
export async function loadSession(db: Db, scope: Scope, id: string): Promise<Session | undefined> {
  const row = await db.row(selectOne, scope, [id]);
  return row && sessionOfRow(row);
}

/** The sessions with these ids; those that exist. */
export async function loadSessions(db: Db, scope: Scope, ids: readonly string[]): Promise<Session[]> {
  return (await db.rows(selectSeveral, scope, [ids])).map(sessionOfRow);
}

/** The session, locked until the transaction ends, or undefined. */
export async function lockSession(tx: Tx, scope: Scope, id: string): Promise<Session | undefined> {
  const row = await tx.row(selectForUpdate, scope, [id]);
  if (row === undefined) return undefined;
  const session = sessionOfRow(row);
  if (hasItsDiscounts(session)) return session;
  const again = await tx.row(selectOne, scope, [id]);
  return again && sessionOfRow(again);
}

/** Several sessions, locked until the transaction ends, in the order of their ids; those that exist. */
export async function lockSessions(tx: Tx, scope: Scope, ids: readonly string[]): Promise<Session[]> {
  const sessions = (await tx.rows(selectSeveralForUpdate, scope, [ids])).map(sessionOfRow);
  for (const [i, session] of sessions.entries()) {
    if (hasItsDiscounts(session)) continue;
    const again = await tx.row(selectOne, scope, [session.id]);
    if (again !== undefined) sessions[i] = sessionOfRow(again);
  }
  return sessions;
}

// Where the lock was waited for, the row is the one that was committed meanwhile, but what the same statement read of other tables is from before. A promo code
// that was entered or removed meanwhile is then missing or too many; the next statement sees it.
function hasItsDiscounts({ discounts, enteredDiscountId }: Session): boolean {
  return (enteredDiscount(discounts)?.id ?? null) === enteredDiscountId;
}

/**
 * Writes what payment and updates change of a session, from the record as it was read to the record as it shall be, and returns the latter
 * with its new version. Throws for a move that is not in the state table and when the row is no longer the one that was read.
 */
export async function saveSession(tx: Tx, scope: Scope, before: Session, after: Session): Promise<Session> {
  if (before.status !== after.status) sessionStates.assertMove(before.status, after.status);
  const written = await tx.execute(update, scope, [
    before.id,
    before.version,
    before.status,
    after.status,
    after.amountReceivedCents,
    after.amountRefundedCents,
    after.amountDisputedCents,
    after.paymentIntentIds,
    after.refundIds,
    after.captureIds,
    after.disputeIds,
    after.setupIntentId,
    after.subscriptionId,
    after.invoiceId,
    after.nextAction,
    after.completedAt,
    after.endedAt,
    after.renewalAsOf,
    after.shippingDetails,
    after.storefrontPaymentDetails,
    after.metadata,
    after.clientReferenceId,
    after.letterFeeStatus,
    after.customerEmail,
    after.customerId,
  ]);
  if (written !== 1) throw new Error('A session changed after it was read');
  return { ...after, version: before.version + 1n };
}

/** The columns of a whole session, for statements that name its table `s`. */
export function sessionColumns(s: string): string {
  return `
  ${s}.id, ${s}.status, ${s}.mode, ${s}.capture_method, ${s}.customer_id, ${s}.customer_email, ${s}.test_clock_id, ${s}.payment_method_id,
  ${s}.client_reference_id, ${s}.setup_future_use, ${s}.amount_subtotal_cents, ${s}.amount_discount_cents, ${s}.amount_tax_cents,
  ${s}.amount_shipping_cents, ${s}.amount_fee_cents, ${s}.amount_total_cents, ${s}.amount_eligible_cents, ${s}.amount_iias_cents,
  ${s}.amount_prescription_cents, ${s}.amount_vision_cents, ${s}.amount_service_cents, ${s}.letter_required, ${s}.letter_fee_cents,
  ${s}.letter_fee_status, ${s}.split_cart_id, ${s}.visit_type, ${s}.amount_received_cents, ${s}.amount_refunded_cents,
  ${s}.amount_disputed_cents, ${s}.payment_intent_ids, ${s}.refund_ids, ${s}.capture_ids, ${s}.dispute_ids, ${s}.setup_intent_id,
  ${s}.subscription_id, ${s}.invoice_id, ${s}.next_action, ${s}.declines_on_page, ${s}.declines_by_request, ${s}.typed_cards, ${s}.created_at, ${s}.expires_at, ${s}.completed_at, ${s}.ended_at,
  ${s}.renewal_as_of, ${s}.entered_discount_id, ${s}.shipping_details, ${s}.storefront_payment_details, ${s}.metadata, ${s}.details, ${s}.version,
  case when ${s}.fee_count > 0 then (
    select json_agg(json_build_object('id', f.id, 'amountCents', f.amount_cents::text, 'name', f.name,
      'description', f.description, 'feeType', f.fee_type, 'applied', f.applied, 'waivedReason', f.waived_reason)
      order by f.position)
    from checkout.session_fees f where f.account_id = ${s}.account_id and f.test_mode = ${s}.test_mode and f.session_id = ${s}.id
  ) end as fees,
  case when ${s}.discount_count > 0 then (
    select json_agg(json_build_object('id', d.id, 'couponId', d.coupon_id, 'promoCodeId', d.promo_code_id,
      'coupon', d.coupon, 'amountCents', d.amount_cents::text, 'enteredCode', d.entered_code) order by d.position)
    from checkout.session_discounts d
    where d.account_id = ${s}.account_id and d.test_mode = ${s}.test_mode and d.session_id = ${s}.id
  ) end as discounts`;
}

/** A row of `sessionColumns`. */
export interface SessionRow {
  readonly id: string;
  readonly status: Session['status'];
  readonly mode: Session['mode'];
  readonly capture_method: Session['captureMethod'];
  readonly customer_id: string | null;
  readonly customer_email: string | null;
  readonly test_clock_id: string | null;
  readonly payment_method_id: string | null;
  readonly client_reference_id: string | null;
  readonly setup_future_use: string | null;
  readonly amount_subtotal_cents: bigint;
  readonly amount_discount_cents: bigint;
  readonly amount_tax_cents: bigint;
  readonly amount_shipping_cents: bigint;
  readonly amount_fee_cents: bigint;
  readonly amount_total_cents: bigint;
  readonly amount_eligible_cents: bigint;
  readonly amount_iias_cents: bigint;
  readonly amount_prescription_cents: bigint;
  readonly amount_vision_cents: bigint;
  readonly amount_service_cents: bigint;
  readonly letter_required: boolean;
  readonly letter_fee_cents: bigint | null;
  readonly letter_fee_status: Session['letterFeeStatus'];
  readonly split_cart_id: string | null;
  readonly visit_type: string | null;
  readonly amount_received_cents: bigint;
  readonly amount_refunded_cents: bigint;
  readonly amount_disputed_cents: bigint;
  readonly payment_intent_ids: string[];
  readonly refund_ids: string[];
  readonly capture_ids: string[];
  readonly dispute_ids: string[];
  readonly setup_intent_id: string | null;
  readonly subscription_id: string | null;
  readonly invoice_id: string | null;
  readonly next_action: Session['nextAction'];
  readonly declines_on_page: number;
  readonly declines_by_request: number;
  readonly typed_cards: number;
  readonly created_at: Date;
  readonly expires_at: Date;
  readonly completed_at: Date | null;
  readonly ended_at: Date | null;
  readonly renewal_as_of: Date | null;
  readonly shipping_details: Session['shippingDetails'];
  readonly storefront_payment_details: Session['storefrontPaymentDetails'];
  readonly metadata: Record<string, string>;
  readonly details: SessionDetails;
  readonly version: bigint;
  readonly entered_discount_id: string | null;
  readonly fees: (Omit<SessionFee, 'amountCents'> & { readonly amountCents: string })[] | null;
  readonly discounts: (Omit<SessionDiscount, 'amountCents'> & { readonly amountCents: string })[] | null;
}

/** The record that a row of `sessionColumns` holds. */
export function sessionOfRow(row: SessionRow): Session {
  return {
    id: row.id,
    status: row.status,
    mode: row.mode,
    captureMethod: row.capture_method,
    customerId: row.customer_id,
    customerEmail: row.customer_email,
    testClockId: row.test_clock_id,
    paymentMethodId: row.payment_method_id,
    clientReferenceId: row.client_reference_id,
    setupFutureUse: row.setup_future_use,
    amountSubtotalCents: centsFromInt64(row.amount_subtotal_cents),
    amountDiscountCents: centsFromInt64(row.amount_discount_cents),
    amountTaxCents: centsFromInt64(row.amount_tax_cents),
    amountShippingCents: centsFromInt64(row.amount_shipping_cents),
    amountFeeCents: centsFromInt64(row.amount_fee_cents),
    amountTotalCents: centsFromInt64(row.amount_total_cents),
    amountEligibleCents: centsFromInt64(row.amount_eligible_cents),
    amountIiasCents: centsFromInt64(row.amount_iias_cents),
    amountPrescriptionCents: centsFromInt64(row.amount_prescription_cents),
    amountVisionCents: centsFromInt64(row.amount_vision_cents),
    amountServiceCents: centsFromInt64(row.amount_service_cents),
    letterRequired: row.letter_required,
    letterFeeCents: row.letter_fee_cents === null ? null : centsFromInt64(row.letter_fee_cents),
    letterFeeStatus: row.letter_fee_status,
    splitCartId: row.split_cart_id,
    visitType: row.visit_type,
    fees: (row.fees ?? []).map((fee) => ({ ...fee, amountCents: centsOfText(fee.amountCents) })),
    discounts: (row.discounts ?? []).map((discount) => ({
      ...discount,
      amountCents: centsOfText(discount.amountCents),
    })),
    amountReceivedCents: centsFromInt64(row.amount_received_cents),
    amountRefundedCents: centsFromInt64(row.amount_refunded_cents),
    amountDisputedCents: centsFromInt64(row.amount_disputed_cents),
    paymentIntentIds: row.payment_intent_ids,
    refundIds: row.refund_ids,
    captureIds: row.capture_ids,
    disputeIds: row.dispute_ids,
    setupIntentId: row.setup_intent_id,
    subscriptionId: row.subscription_id,
    invoiceId: row.invoice_id,
    nextAction: row.next_action,
    declinesOnPage: row.declines_on_page,
    declinesByRequest: row.declines_by_request,
    typedCards: row.typed_cards,
    createdAt: row.created_at,
    expiresAt: row.expires_at,
    completedAt: row.completed_at,
    endedAt: row.ended_at,
    renewalAsOf: row.renewal_as_of,
    shippingDetails: row.shipping_details,
    storefrontPaymentDetails: row.storefront_payment_details,
    metadata: row.metadata,
    details: row.details,
    version: row.version,
    enteredDiscountId: row.entered_discount_id,
  };
}

const selectOne = scoped<SessionRow>(
  'sessions.load',
  `select ${sessionColumns('s')} from checkout.sessions s where s.account_id = $1 and s.test_mode = $2 and s.id = $3`,
);

const selectSeveral = scoped<SessionRow>(
  'sessions.load_several',
  `select ${sessionColumns('s')} from checkout.sessions s where s.account_id = $1 and s.test_mode = $2 and s.id = any ($3::text[])`,
);

const selectForUpdate = scoped<SessionRow>(
  'sessions.lock',
  `select ${sessionColumns('s')} from checkout.sessions s
   where s.account_id = $1 and s.test_mode = $2 and s.id = $3 for update of s`,
);

const selectSeveralForUpdate = scoped<SessionRow>(
  'sessions.lock_several',
  `select ${sessionColumns('s')} from checkout.sessions s
   where s.account_id = $1 and s.test_mode = $2 and s.id = any ($3::text[]) order by s.id for update of s`,
);

const update = scoped<never>(
  'sessions.save',
  `update checkout.sessions set
     status = $6, amount_received_cents = $7, amount_refunded_cents = $8, amount_disputed_cents = $9,
     payment_intent_ids = $10, refund_ids = $11, capture_ids = $12, dispute_ids = $13, setup_intent_id = $14,
     subscription_id = $15, invoice_id = $16, next_action = $17, completed_at = $18, ended_at = $19, renewal_as_of = $20,
     shipping_details = $21, storefront_payment_details = $22, metadata = $23, client_reference_id = $24,
     letter_fee_status = $25, customer_email = $26, customer_id = $27, version = version + 1
   where account_id = $1 and test_mode = $2 and id = $3 and version = $4 and status = $5`,
);

function centsOfText(text: string): Cents {
  return centsFromInt64(BigInt(text));
}
