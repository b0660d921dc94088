import type { CheckoutSession, Fee } from '@eligo/proto/checkout/v1/checkout';
import { centsFromInt64 } from '@eligo/values';
import { z } from 'zod';
import { type Expansion, expandable, noExpansion, type References } from '../expansion.ts';
import { answer, idOf } from '../fields.ts';
import { unixSeconds } from '../times.ts';
import { renderShippingAddress, shippingAddressSchema } from './address.ts';
import { renderTotalDetails, totalDetailsSchema } from './checkout-session-totals.ts';
import { couponReference } from './discount.ts';
import { nextActionSchema, renderNextAction } from './next-action.ts';
import {
  customTextSchema,
  defaultsSchema,
  renderCustomText,
  renderDefaults,
  renderSellingPlan,
  renderStorefrontPaymentDetails,
  renderSubscriptionData,
  sellingPlanSchema,
  storefrontPaymentDetailsSchema,
  subscriptionDataSchema,
} from './session-settings.ts';

export const sessionStatuses = ['open', 'paid', 'complete', 'canceled', 'expired'] as const;
export const sessionModes = ['payment', 'subscription', 'off_session', 'setup', 'reimbursement'] as const;

const feeSchema = z.strictObject({
  fee_id: idOf('fee'),
  amount: answer.cents,
  name: answer.text,
  description: answer.text,
  fee_type: answer.text,
  applied: z.boolean(),
  waived_reason: answer.text,
});

export const checkoutSessionSchema = z.strictObject({
  checkout_session_id: idOf('checkout_session'),
  status: z.enum(sessionStatuses),
  mode: z.enum(sessionModes),
  amount_total: answer.cents,
  amount_subtotal: answer.cents,
  amount_received: answer.cents,
  amount_refunded: answer.cents,
  amount_disputed: answer.cents,
  allow_promotion_codes: z.boolean(),
  cancel_url: answer.text,
  success_url: answer.text,
  redirect_url: answer.text,
  captures: z.array(expandable('capture')),
  disputes: z.array(z.string()),
  capture_method: z.string(),
  client_reference_id: answer.text,
  created_at: answer.unixTime,
  expires_at: answer.unixTime,
  renewal_as_of: answer.unixTime.nullable(),
  customer: expandable('customer').nullable(),
  customer_email: answer.text,
  defaults: defaultsSchema.nullable(),
  invoice: expandable('invoice').nullable(),
  hsa_fsa_eligible: z.boolean(),
  letter_of_medical_necessity_required: z.boolean(),
  metadata: answer.metadata,
  origin: answer.text,
  payment_intent: expandable('payment_intent').nullable(),
  payment_intents: z.array(z.string()),
  refunds: z.array(z.string()),
  payment_link: answer.text,
  setup_intent: answer.text,
  setup_future_use: answer.text,
  shipping_options: z
    .strictObject({ shipping_rate_id: answer.text, shipping_amount: answer.cents, display_name: answer.text })
    .nullable(),
  shipping_address_collection: z.boolean(),
  shipping_details: shippingAddressSchema.nullable(),
  split_cart: answer.text,
  fees: z.array(feeSchema),
  custom_text: customTextSchema.nullable(),
  subscription: expandable('subscription').nullable(),
  subscription_data: subscriptionDataSchema.nullable(),
  tax_rate: z.strictObject({ amount: answer.cents }).nullable(),
  tax_calculation_mode: answer.text,
  test_mode: z.boolean(),
  total_details: totalDetailsSchema,
  visit_type: answer.text,
  payment_method_options: z.strictObject({ card: z.strictObject({ request_three_d_secure: z.string() }) }).nullable(),
  next_action: nextActionSchema.nullable(),
  selling_plans: z.array(sellingPlanSchema),
  shopify_payment_details: storefrontPaymentDetailsSchema.nullable(),
  partner: idOf('account'),
  platform_fees: z
    .strictObject({
      letter_fee: z.strictObject({ amount: answer.cents, type: answer.text, status: z.string() }),
    })
    .nullable(),
});

export const checkoutSessionReferences: References<CheckoutSession> = {
  coupons: couponReference,
  captures: { kind: 'capture', ids: (session) => session.captureIds },
  customer: { kind: 'customer', ids: (session) => [session.customerId] },
  payment_intent: { kind: 'payment_intent', ids: (session) => [session.paymentIntentId] },
  invoice: { kind: 'invoice', ids: (session) => [session.invoiceId] },
  subscription: { kind: 'subscription', ids: (session) => [session.subscriptionId] },
};

export function renderCheckoutSession(
  session: CheckoutSession,
  expansion: Expansion = noExpansion,
): z.infer<typeof checkoutSessionSchema> {
  return {
    checkout_session_id: session.checkoutSessionId,
    status: session.status as (typeof sessionStatuses)[number],
    mode: session.mode as (typeof sessionModes)[number],
    amount_total: centsFromInt64(session.amountTotalCents),
    amount_subtotal: centsFromInt64(session.amountSubtotalCents),
    amount_received: centsFromInt64(session.amountReceivedCents),
    amount_refunded: centsFromInt64(session.amountRefundedCents),
    amount_disputed: centsFromInt64(session.amountDisputedCents),
    allow_promotion_codes: session.allowPromotionCodes,
    cancel_url: session.cancelUrl ?? null,
    success_url: session.successUrl === undefined ? null : withSessionId(session.successUrl, session.checkoutSessionId),
    redirect_url: session.redirectUrl ?? null,
    captures: session.captureIds.map((id) => expansion.of('capture', id)),
    disputes: session.disputeIds,
    capture_method: session.captureMethod,
    client_reference_id: session.clientReferenceId ?? null,
    created_at: unixSeconds(session.createdAtMs),
    expires_at: unixSeconds(session.expiresAtMs),
    renewal_as_of: session.renewalAsOfMs === undefined ? null : unixSeconds(session.renewalAsOfMs),
    customer: expansion.of('customer', session.customerId),
    customer_email: session.customerEmail ?? null,
    defaults: session.defaults === undefined ? null : renderDefaults(session.defaults),
    invoice: expansion.of('invoice', session.invoiceId),
    hsa_fsa_eligible: session.hsaFsaEligible,
    letter_of_medical_necessity_required: session.letterOfMedicalNecessityRequired,
    metadata: session.metadata,
    origin: session.origin ?? null,
    payment_intent: expansion.of('payment_intent', session.paymentIntentId),
    payment_intents: session.paymentIntentIds,
    refunds: session.refundIds,
    payment_link: session.paymentLinkId ?? null,
    setup_intent: session.setupIntentId ?? null,
    setup_future_use: session.setupFutureUse ?? null,
    shipping_options: renderShippingOptions(session),
    shipping_address_collection: session.shippingAddressCollection,
    shipping_details: session.shippingDetails === undefined ? null : renderShippingAddress(session.shippingDetails),
    split_cart: session.splitCartId ?? null,
    fees: session.fees.map(renderFee),
    custom_text: session.customText === undefined ? null : renderCustomText(session.customText),
    subscription: expansion.of('subscription', session.subscriptionId),
    subscription_data: session.subscriptionData === undefined ? null : renderSubscriptionData(session.subscriptionData),
    tax_rate: session.taxAmountCents === undefined ? null : { amount: centsFromInt64(session.taxAmountCents) },
    tax_calculation_mode: session.taxCalculationMode ?? null,
    test_mode: session.testMode,
    total_details: renderTotalDetails(session, expansion),
    visit_type: session.visitType ?? null,
    payment_method_options:
      session.requestThreeDSecure === undefined
        ? null
        : { card: { request_three_d_secure: session.requestThreeDSecure } },
    next_action: session.nextAction === undefined ? null : renderNextAction(session.nextAction),
    selling_plans: session.sellingPlans.map(renderSellingPlan),
    shopify_payment_details:
      session.storefrontPaymentDetails === undefined
        ? null
        : renderStorefrontPaymentDetails(session.storefrontPaymentDetails),
    partner: session.partnerId,
    platform_fees: renderPlatformFees(session),
  };
}

// Partners write {CHECKOUT_SESSION_ID} where the session's id is to stand, plain or percent-encoded (decisions 1.7).
function withSessionId(url: string, id: string): string {
  return url.replaceAll(/\{CHECKOUT_SESSION_ID\}|%7BCHECKOUT_SESSION_ID%7D/gi, () => id);
}

function renderShippingOptions({ shippingOptions }: CheckoutSession) {
  if (shippingOptions === undefined) return null;
  return {
    shipping_rate_id: shippingOptions.shippingRateId ?? null,
    shipping_amount: centsFromInt64(shippingOptions.shippingAmountCents),
    display_name: shippingOptions.displayName ?? null,
  };
}

function renderFee(fee: Fee): z.infer<typeof feeSchema> {
  return {
    fee_id: fee.feeId,
    amount: centsFromInt64(fee.amountCents),
    name: fee.name ?? null,
    description: fee.description ?? null,
    fee_type: fee.feeType ?? null,
    applied: fee.applied,
    waived_reason: fee.waivedReason ?? null,
  };
}

function renderPlatformFees({ letterFee }: CheckoutSession) {
  if (letterFee === undefined) return null;
  const { amountCents, type, status } = letterFee;
  return { letter_fee: { amount: centsFromInt64(amountCents), type: type ?? null, status } };
}
