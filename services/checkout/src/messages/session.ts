import { create, fromJson, type JsonValue } from '@bufbuild/protobuf';
import type { Scope } from '@eligo/postgres';
import { CouponSchema } from '@eligo/proto/catalog/v1/catalog';
import {
  AddressSchema,
  type CheckoutSession,
  CheckoutSessionSchema,
  CustomTextSchema,
  DefaultsSchema,
  type Discount,
  DiscountSchema,
  type Fee,
  FeeSchema,
  LetterFeeSchema,
  type NextAction,
  NextActionSchema,
  SellingPlanSchema,
  ShippingOptionsSchema,
  StorefrontPaymentDetailsSchema,
  type SubscriptionData,
  SubscriptionDataSchema,
  TotalDetailsSchema,
} from '@eligo/proto/checkout/v1/checkout';
import { present } from '@eligo/values';
import type * as domain from '../domain/session.ts';

/** The message of a session, as every call and event carries it. */
export function sessionMessage(scope: Scope, session: domain.Session): CheckoutSession {
  const { details } = session;
  // Assigned one by one: a create() with all fields given costs five times as much, on the path of every read.
  const message = create(CheckoutSessionSchema);
  message.checkoutSessionId = session.id;
  message.status = session.status;
  message.mode = session.mode;
  message.testMode = scope.testMode;
  message.partnerId = scope.accountId;
  message.captureMethod = session.captureMethod;
  message.createdAtMs = BigInt(session.createdAt.getTime());
  message.expiresAtMs = BigInt(session.expiresAt.getTime());
  message.metadata = { ...session.metadata };
  writeAmounts(message, session);
  writeReferences(message, session);
  writeDetails(message, details);
  message.letterOfMedicalNecessityRequired = session.letterRequired;
  if (session.visitType !== null) message.visitType = session.visitType;
  if (details.shipping !== undefined) {
    message.shippingOptions = create(ShippingOptionsSchema, {
      ...details.shipping,
      shippingAmountCents: BigInt(session.amountShippingCents),
    });
  }
  if (details.taxGiven === true) {
    message.taxAmountCents = BigInt(session.amountTaxCents);
    message.taxCalculationMode = 'exclusive';
  }
  if (session.shippingDetails !== null) message.shippingDetails = create(AddressSchema, session.shippingDetails);
  if (session.storefrontPaymentDetails !== null) {
    message.storefrontPaymentDetails = create(StorefrontPaymentDetailsSchema, session.storefrontPaymentDetails);
  }
  if (session.letterFeeCents !== null) {
    message.letterFee = create(LetterFeeSchema, {
      amountCents: BigInt(session.letterFeeCents),
      type: 'lmn_consultation',
      status: session.letterFeeStatus ?? 'pending',
    });
  }
  if (session.nextAction !== null) message.nextAction = nextActionMessage(session.nextAction);
  message.fees = session.fees.map(feeMessage);
  message.discounts = session.discounts.map((discount) => discountMessage(scope, session, discount));
  return message;
}

function writeAmounts(message: CheckoutSession, session: domain.Session): void {
  message.amountTotalCents = BigInt(session.amountTotalCents);
  message.amountSubtotalCents = BigInt(session.amountSubtotalCents);
  message.amountEligibleCents = BigInt(session.amountEligibleCents);
  message.amountReceivedCents = BigInt(session.amountReceivedCents);
  message.amountRefundedCents = BigInt(session.amountRefundedCents);
  message.amountDisputedCents = BigInt(session.amountDisputedCents);
  message.hsaFsaEligible = session.amountEligibleCents > 0;
  const totals = create(TotalDetailsSchema);
  totals.amountDiscountCents = BigInt(session.amountDiscountCents);
  totals.amountTaxCents = BigInt(session.amountTaxCents);
  totals.amountShippingCents = BigInt(session.amountShippingCents);
  totals.amountFeeCents = BigInt(session.amountFeeCents);
  totals.amountIiasCents = BigInt(session.amountIiasCents);
  totals.amountPrescriptionCents = BigInt(session.amountPrescriptionCents);
  totals.amountVisionCents = BigInt(session.amountVisionCents);
  totals.amountServiceCents = BigInt(session.amountServiceCents);
  message.totalDetails = totals;
}

function writeReferences(message: CheckoutSession, session: domain.Session): void {
  if (session.customerId !== null) message.customerId = session.customerId;
  if (session.customerEmail !== null) message.customerEmail = session.customerEmail;
  if (session.clientReferenceId !== null) message.clientReferenceId = session.clientReferenceId;
  if (session.setupFutureUse !== null) message.setupFutureUse = session.setupFutureUse;
  if (session.splitCartId !== null) message.splitCartId = session.splitCartId;
  if (session.setupIntentId !== null) message.setupIntentId = session.setupIntentId;
  const { subscriptionId, invoiceId } = madeBySession(session);
  if (subscriptionId !== null) message.subscriptionId = subscriptionId;
  if (invoiceId !== null) message.invoiceId = invoiceId;
  if (session.renewalAsOf !== null) message.renewalAsOfMs = BigInt(session.renewalAsOf.getTime());
  const [firstIntent] = session.paymentIntentIds;
  if (firstIntent !== undefined) message.paymentIntentId = firstIntent;
  message.paymentIntentIds = [...session.paymentIntentIds];
  message.refundIds = [...session.refundIds];
  message.captureIds = [...session.captureIds];
  message.disputeIds = [...session.disputeIds];
}

// The ids are set aside before the first charge; what has them exists once the session is complete.
function madeBySession({ status, subscriptionId, invoiceId }: domain.Session) {
  return status === 'complete' ? { subscriptionId, invoiceId } : { subscriptionId: null, invoiceId: null };
}

function writeDetails(message: CheckoutSession, details: domain.SessionDetails): void {
  message.allowPromotionCodes = details.allowPromotionCodes ?? false;
  message.shippingAddressCollection = details.shippingAddressCollection ?? false;
  if (details.cancelUrl !== undefined) message.cancelUrl = details.cancelUrl;
  if (details.successUrl !== undefined) message.successUrl = details.successUrl;
  if (details.redirectUrl !== undefined) message.redirectUrl = details.redirectUrl;
  if (details.origin !== undefined) message.origin = details.origin;
  if (details.paymentLinkId !== undefined) message.paymentLinkId = details.paymentLinkId;
  if (details.defaults !== undefined) message.defaults = create(DefaultsSchema, details.defaults);
  if (details.customText !== undefined) message.customText = create(CustomTextSchema, details.customText);
  if (details.subscriptionData !== undefined) {
    message.subscriptionData = subscriptionDataMessage(details.subscriptionData);
  }
  if (details.requestThreeDSecure !== undefined) message.requestThreeDSecure = details.requestThreeDSecure;
  if (details.sellingPlans !== undefined) {
    message.sellingPlans = details.sellingPlans.map((plan) => create(SellingPlanSchema, plan));
  }
}

function subscriptionDataMessage(data: domain.SubscriptionData): SubscriptionData {
  const { cancelAtMs, trialEndMs, ...rest } = data;
  return create(
    SubscriptionDataSchema,
    present({
      ...rest,
      cancelAtMs: cancelAtMs === undefined ? undefined : BigInt(cancelAtMs),
      trialEndMs: trialEndMs === undefined ? undefined : BigInt(trialEndMs),
    }),
  );
}

function nextActionMessage(action: domain.NextAction): NextAction {
  const { eligibleAmountCents, ineligibleAmountCents, ...rest } = action;
  return create(
    NextActionSchema,
    present({
      ...rest,
      eligibleAmountCents: eligibleAmountCents === undefined ? undefined : BigInt(eligibleAmountCents),
      ineligibleAmountCents: ineligibleAmountCents === undefined ? undefined : BigInt(ineligibleAmountCents),
    }),
  );
}

function feeMessage(fee: domain.SessionFee): Fee {
  const { id, amountCents, ...rest } = fee;
  return create(FeeSchema, { feeId: id, amountCents: BigInt(amountCents), ...present(rest) });
}

function discountMessage(scope: Scope, session: domain.Session, discount: domain.SessionDiscount): Discount {
  return create(DiscountSchema, {
    discountId: discount.id,
    checkoutSessionId: session.id,
    couponId: discount.couponId,
    coupon: fromJson(CouponSchema, discount.coupon as JsonValue, { ignoreUnknownFields: true }),
    testMode: scope.testMode,
    startMs: BigInt(session.createdAt.getTime()),
    amountCents: BigInt(discount.amountCents),
    ...present({
      customerId: session.customerId,
      ...madeBySession(session),
      promoCodeId: discount.promoCodeId,
    }),
  });
}
