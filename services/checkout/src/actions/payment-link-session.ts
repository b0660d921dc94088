import { create } from '@bufbuild/protobuf';
import { CartLineSchema } from '@eligo/proto/catalog/v1/catalog';
import type { PaymentLinkTerms } from '@eligo/proto/checkout/v1/checkout';
import { cents, present } from '@eligo/values';
import type { PaymentLink } from '../domain/payment-link.ts';
import type { SessionDetails } from '../domain/session.ts';
import { fieldsOf, shippingChoiceOf } from '../messages/session-terms.ts';
import type { SessionRequest } from './create-session.ts';

/** What each session of a link is created from. The session starts without a customer: the shopper is not known yet. */
export function sessionRequestOfLink(
  link: PaymentLink,
  terms: PaymentLinkTerms,
  receiptMerchantName?: string,
): SessionRequest {
  const { successUrl, cancelUrl, customText, setupFutureUse = null } = terms;
  const details = present({
    paymentLinkId: link.id,
    receiptMerchantName,
    successUrl,
    cancelUrl,
    shippingAddressCollection: terms.shippingAddressCollection || undefined,
    customText: fieldsOf(customText),
  }) as SessionDetails;
  return {
    terms: {
      mode: link.mode,
      captureMethod: 'automatic',
      customerId: null,
      customerEmail: null,
      paymentMethodId: null,
      clientReferenceId: null,
      setupFutureUse,
      expiresAt: null,
      shippingDetails: null,
      storefrontPaymentDetails: null,
      metadata: link.metadata,
      details,
    },
    cart: {
      lines: terms.lines.map(({ priceId, quantity }) =>
        create(CartLineSchema, { item: { case: 'priceId', value: priceId }, quantity }),
      ),
      discounts: [],
      shipping: shippingChoiceOf(terms.shipping),
      taxCents: cents(0),
      fees: [],
    },
    key: undefined,
  };
}
