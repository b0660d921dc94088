import { Failure } from '@eligo/failures';
import type { CreateSessionRequest } from '@eligo/proto/checkout/v1/checkout';
import { cents, centsFromInt64, present } from '@eligo/values';
import type { SessionRequest } from '../actions/create-session.ts';
import type { SessionTerms } from '../domain/new-session.ts';
import type { SessionDetails, SessionMode, StorefrontPaymentDetails, SubscriptionData } from '../domain/session.ts';
import { addressOf } from '../messages/address.ts';
import { fieldsOf, shippingChoiceOf } from '../messages/session-terms.ts';

/** What a creation asks for. The modes' own rules about what must be there are the action's. */
export function sessionRequestOf(request: CreateSessionRequest): SessionRequest {
  return {
    terms: termsOf(request),
    cart: {
      lines: request.lines,
      discounts: request.discounts,
      shipping: shippingChoiceOf(request.shipping),
      taxCents: request.taxAmountCents === undefined ? cents(0) : centsFromInt64(request.taxAmountCents),
      fees: request.fees.map((fee) => ({
        amountCents: centsFromInt64(fee.amountCents),
        name: fee.name ?? null,
        description: fee.description ?? null,
        feeType: fee.feeType ?? null,
      })),
    },
    key: request.idempotency,
  };
}

/** The details of a storefront's payment, or undefined where none were given. */
export function storefrontDetailsOf(
  message: CreateSessionRequest['storefrontPaymentDetails'],
): StorefrontPaymentDetails | undefined {
  if (message === undefined) return undefined;
  const { gateway, wallet, cardBrand, cardLast4 } = message;
  return present({ gateway, wallet, cardBrand, cardLast4 }) as StorefrontPaymentDetails;
}

function termsOf(request: CreateSessionRequest): SessionTerms {
  return {
    mode: modeOf(request.mode),
    captureMethod: request.captureMethod === 'manual' ? 'manual' : 'automatic',
    customerId: request.customerId ?? null,
    customerEmail: request.customerEmail ?? null,
    paymentMethodId: request.paymentMethodId ?? null,
    clientReferenceId: request.clientReferenceId ?? null,
    setupFutureUse: request.setupFutureUse ?? null,
    expiresAt: request.expiresAtMs === undefined ? null : new Date(Number(request.expiresAtMs)),
    shippingDetails: addressOf(request.shippingDetails),
    storefrontPaymentDetails: storefrontDetailsOf(request.storefrontPaymentDetails) ?? null,
    metadata: request.metadata,
    details: detailsOf(request),
  };
}

function modeOf(mode: string): SessionMode {
  if (modes.has(mode)) return mode as SessionMode;
  throw Failure.invalid(['body', 'checkout_session', 'mode'], 'enum', 'Not a mode of a checkout session');
}

const modes: ReadonlySet<string> = new Set<SessionMode>([
  'payment',
  'subscription',
  'off_session',
  'setup',
  'reimbursement',
]);

function detailsOf(request: CreateSessionRequest): SessionDetails {
  const { cancelUrl, successUrl, origin, requestThreeDSecure, receiptMerchantName } = request;
  return present({
    cancelUrl,
    successUrl,
    origin,
    requestThreeDSecure,
    receiptMerchantName,
    allowPromotionCodes: request.allowPromotionCodes || undefined,
    shippingAddressCollection: request.shippingAddressCollection || undefined,
    taxGiven: request.taxAmountCents === undefined ? undefined : true,
    defaults: fieldsOf(request.defaults),
    customText: fieldsOf(request.customText),
    subscriptionData: subscriptionDataOf(request.subscriptionData),
    sellingPlans:
      request.sellingPlans.length === 0 ? undefined : request.sellingPlans.map((plan) => fieldsOf(plan) ?? {}),
  }) as SessionDetails;
}

function subscriptionDataOf(data: CreateSessionRequest['subscriptionData']): SessionDetails['subscriptionData'] {
  if (data === undefined) return undefined;
  const { cancelAtMs, trialEndMs, cancelAtPeriodEnd, trialPeriodDays, missingPaymentMethod } = data;
  return present({
    cancelAtPeriodEnd,
    trialPeriodDays,
    missingPaymentMethod,
    cancelAtMs: cancelAtMs === undefined ? undefined : Number(cancelAtMs),
    trialEndMs: trialEndMs === undefined ? undefined : Number(trialEndMs),
  }) as SubscriptionData;
}
