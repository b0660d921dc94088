import type { Product } from '@eligo/proto/catalog/v1/catalog';
import type {
  SubstantiatedLine,
  SubstantiatedMovement,
  SubstantiatedPayment,
  Substantiation,
} from '@eligo/proto/checkout/v1/checkout';
import { centsFromInt64 } from '@eligo/values';
import { z } from 'zod';
import { answer, eligibilityClass, idOf } from '../fields.ts';
import { isoTime } from '../times.ts';
import { letterReviewerSchema, letterStatuses, renderReviewer } from './letter.ts';
import { eligibilityClassOf } from './product.ts';

const movement = { payment_intent: idOf('payment_intent'), amount: answer.cents, created_at: answer.time };

/** What proves that the health card of a session paid for eligible items alone. */
export const substantiationSchema = z.strictObject({
  checkout_session: idOf('checkout_session'),
  status: z.string(),
  customer: idOf('customer').nullable(),
  amount_total: answer.cents,
  amount_eligible: answer.cents,
  amount_captured: answer.cents,
  amount_refunded: answer.cents,
  amount_disputed: answer.cents,
  decided_at: answer.time.nullable(),
  food_policy_version: answer.text,
  line_items: z.array(
    z.strictObject({
      line_item_id: idOf('line_item'),
      price: idOf('price'),
      product: idOf('product'),
      name: answer.text,
      description: answer.text,
      upc_code: answer.text,
      gtin: answer.text,
      reference_gtin: answer.text,
      quantity: z.int(),
      unit_amount: answer.cents,
      amount_total: answer.cents,
      amount_eligible: answer.cents,
      amount_captured: answer.cents,
      amount_refunded: answer.cents,
      eligibility: eligibilityClass.nullable(),
      rule: z.string(),
      rule_version: z.string(),
      rationale: z.string(),
      letter: z
        .strictObject({
          letter_id: idOf('letter'),
          status: z.enum(letterStatuses),
          decided_at: answer.time.nullable(),
          expires_at: answer.time,
          reviewer: letterReviewerSchema.nullable(),
        })
        .nullable(),
      captures: z.array(z.strictObject({ capture: idOf('capture').nullable(), ...movement })),
      refunds: z.array(z.strictObject({ refund: idOf('refund'), ...movement })),
    }),
  ),
  payments: z.array(
    z.strictObject({
      payment_intent: idOf('payment_intent'),
      charge: idOf('charge'),
      leg: z.enum(['health', 'other']),
      payment_method: idOf('payment_method').nullable(),
      card: z
        .strictObject({
          brand: z.string(),
          last4: z.string(),
          funding: z.string(),
          hsa_fsa: z.boolean().nullable(),
          hsa_fsa_source: z.string().nullable(),
        })
        .nullable(),
      amount_authorized: answer.cents,
      amount_captured: answer.cents,
      amount_refunded: answer.cents,
      disputed: z.boolean(),
      created_at: answer.time,
    }),
  ),
  has_more_refunds: z.boolean(),
  test_mode: z.boolean(),
  created_at: answer.time,
});

/** The proof as JSON. */
export type RenderedSubstantiation = z.infer<typeof substantiationSchema>;

/** Renders the proof; `products` are those of the lines, as they are now. */
export function renderSubstantiation(
  proof: Substantiation,
  products: ReadonlyMap<string, Product>,
): RenderedSubstantiation {
  const { session } = proof;
  if (session === undefined) throw new Error('A substantiation has no session');
  const lines = proof.lines.map((line) => renderLine(line, products));
  return {
    checkout_session: session.checkoutSessionId,
    status: session.status,
    customer: session.customerId ?? null,
    amount_total: centsFromInt64(session.amountTotalCents),
    amount_eligible: lines.reduce((sum, line) => sum + line.amount_eligible, 0),
    amount_captured: centsFromInt64(session.amountReceivedCents),
    amount_refunded: centsFromInt64(session.amountRefundedCents),
    amount_disputed: centsFromInt64(session.amountDisputedCents),
    decided_at: proof.decidedAtMs === undefined ? null : isoTime(proof.decidedAtMs),
    food_policy_version: proof.foodPolicyVersion ?? null,
    line_items: lines,
    payments: proof.payments.map(renderPayment),
    has_more_refunds: proof.hasMoreRefunds,
    test_mode: session.testMode,
    created_at: isoTime(session.createdAtMs),
  };
}

function renderLine(
  { line, amountCapturedCents, letter, captures, refunds }: SubstantiatedLine,
  products: ReadonlyMap<string, Product>,
): RenderedSubstantiation['line_items'][number] {
  if (line === undefined) throw new Error('A substantiated line has no line');
  const product = products.get(line.productId);
  return {
    line_item_id: line.lineItemId,
    price: line.priceId,
    product: line.productId,
    name: product?.name ?? null,
    description: line.description ?? null,
    upc_code: product?.upcCode ?? null,
    gtin: product?.gtin ?? null,
    reference_gtin: product?.referenceGtin ?? null,
    quantity: Number(line.quantity),
    unit_amount: centsFromInt64(line.unitAmountCents),
    amount_total: centsFromInt64(line.amountTotalCents),
    amount_eligible: centsFromInt64(line.amountEligibleCents),
    amount_captured: centsFromInt64(amountCapturedCents),
    amount_refunded: centsFromInt64(line.amountRefundedCents),
    eligibility: eligibilityClassOf(line.eligibility?.hsaFsaEligibility),
    rule: line.eligibility?.rule ?? '',
    rule_version: line.eligibility?.ruleVersion ?? '',
    rationale: line.eligibility?.rationale ?? '',
    letter:
      letter === undefined
        ? null
        : {
            letter_id: letter.letterId,
            status: letter.status as (typeof letterStatuses)[number],
            decided_at: letter.decidedAtMs === undefined ? null : isoTime(letter.decidedAtMs),
            expires_at: isoTime(letter.expiresAtMs),
            reviewer: renderReviewer(letter),
          },
    captures: captures.map((one) => ({
      capture: one.sourceId.startsWith('fcap_') ? one.sourceId : null,
      ...renderMovement(one),
    })),
    refunds: refunds.map((one) => ({ refund: one.sourceId, ...renderMovement(one) })),
  };
}

function renderMovement({ paymentIntentId, amountCents, atMs }: SubstantiatedMovement) {
  return { payment_intent: paymentIntentId, amount: centsFromInt64(amountCents), created_at: isoTime(atMs) };
}

function renderPayment({
  leg,
  charge,
  paymentMethod,
}: SubstantiatedPayment): RenderedSubstantiation['payments'][number] {
  if (charge === undefined) throw new Error('A substantiated payment has no charge');
  const card = paymentMethod?.card;
  return {
    payment_intent: charge.paymentIntentId,
    charge: charge.chargeId,
    leg: leg === 'health' ? 'health' : 'other',
    payment_method: paymentMethod?.paymentMethodId ?? null,
    card:
      card === undefined
        ? null
        : {
            brand: card.brand,
            last4: card.last4,
            funding: card.funding,
            hsa_fsa: card.hsaFsa ?? null,
            hsa_fsa_source: card.hsaFsaSource ?? null,
          },
    amount_authorized: centsFromInt64(charge.amountCents),
    amount_captured: centsFromInt64(charge.amountCapturedCents),
    amount_refunded: centsFromInt64(charge.amountRefundedCents),
    disputed: charge.disputed,
    created_at: isoTime(charge.createdAtMs),
  };
}
