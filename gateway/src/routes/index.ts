import type { Answers } from '../answers.ts';
import type { Binding } from '../bind.ts';
import type { Peers } from '../peers.ts';
import { billingBindings } from './billing.ts';
import { captureBindings } from './captures.ts';
import { checkoutSessionBindings } from './checkout-sessions.ts';
import { couponBindings } from './coupons.ts';
import { customerBindings } from './customers.ts';
import { eligibilityBindings } from './eligibility.ts';
import { letterBindings } from './letters.ts';
import { paymentLinkBindings } from './payment-links.ts';
import { paymentMethodBindings } from './payment-methods.ts';
import { paymentBindings } from './payments.ts';
import { priceBindings } from './prices.ts';
import { productComponentBindings } from './product-components.ts';
import { productBindings } from './products.ts';
import { promoCodeBindings } from './promo-codes.ts';
import { receiptBindings } from './receipts.ts';
import { refundBindings } from './refunds.ts';
import { sessionRefundBindings } from './session-refunds.ts';
import { shippingRateBindings } from './shipping-rates.ts';
import { testHelperBindings } from './test-helpers.ts';
import { webhookBindings } from './webhooks.ts';

/** What answers each route of the contract. */
export function allBindings(peers: Peers, answers: Answers): Binding[] {
  return [
    ...shippingRateBindings(peers, answers),
    ...productComponentBindings(peers, answers),
    ...productBindings(peers, answers),
    ...priceBindings(peers, answers),
    ...couponBindings(peers, answers),
    ...promoCodeBindings(peers, answers),
    ...eligibilityBindings(peers),
    ...customerBindings(peers, answers),
    ...paymentLinkBindings(peers, answers),
    ...paymentMethodBindings(peers, answers),
    ...checkoutSessionBindings(peers, answers),
    ...sessionRefundBindings(peers, answers),
    ...paymentBindings(peers, answers),
    ...captureBindings(peers, answers),
    ...letterBindings(peers, answers),
    ...refundBindings(peers, answers),
    ...billingBindings(peers, answers),
    ...receiptBindings(peers, answers),
    ...webhookBindings(peers, answers),
    ...testHelperBindings(peers, answers),
  ];
}
