import type { Event } from '@eligo/proto/events/v1/events';
import type { z } from 'zod';
import type { Expansion, References } from './expansion.ts';
import type { JsonObject } from './json.ts';
import { balanceTransactionSchema, renderBalanceTransaction } from './resources/balance-transaction.ts';
import { captureReferences, captureSchema, renderCapture } from './resources/capture.ts';
import { chargeReferences, chargeSchema, renderCharge } from './resources/charge.ts';
import {
  checkoutSessionReferences,
  checkoutSessionSchema,
  renderCheckoutSession,
} from './resources/checkout-session.ts';
import { couponSchema, renderCoupon } from './resources/coupon.ts';
import { customerSchema, renderCustomer } from './resources/customer.ts';
import { disputeReferences, disputeSchema, renderDispute } from './resources/dispute.ts';
import { fileSchema, renderFile } from './resources/file.ts';
import { invoiceReferences, invoiceSchema, renderInvoice } from './resources/invoice.ts';
import { letterReferences, letterSchema, renderLetter } from './resources/letter.ts';
import { lineItemReferences, lineItemSchema, renderLineItem } from './resources/line-item.ts';
import { paymentIntentReferences, paymentIntentSchema, renderPaymentIntent } from './resources/payment-intent.ts';
import { paymentLinkReferences, paymentLinkSchema, renderPaymentLink } from './resources/payment-link.ts';
import { paymentMethodReferences, paymentMethodSchema, renderPaymentMethod } from './resources/payment-method.ts';
import { payoutReferences, payoutSchema, renderPayout } from './resources/payout.ts';
import { priceReferences, priceSchema, renderPrice } from './resources/price.ts';
import { productSchema, renderProduct } from './resources/product.ts';
import { productComponentSchema, renderProductComponent } from './resources/product-component.ts';
import { promoCodeReferences, promoCodeSchema, renderPromoCode } from './resources/promo-code.ts';
import { receiptSchema, renderReceipt } from './resources/receipt.ts';
import { refundReferences, refundSchema, renderRefund } from './resources/refund.ts';
import { renderSetupIntent, setupIntentReferences, setupIntentSchema } from './resources/setup-intent.ts';
import { renderShippingRate, shippingRateSchema } from './resources/shipping-rate.ts';
import { renderSubscription, subscriptionReferences, subscriptionSchema } from './resources/subscription.ts';
import { renderTestClock, testClockSchema } from './resources/test-clock.ts';
import {
  deliverySchema,
  eventSchema,
  renderDelivery,
  renderPublicEvent,
  renderWebhook,
  webhookSchema,
} from './resources/webhook.ts';

/** A kind of public record: its names on the wire, its schema, what it refers to, and the one way to make its JSON. */
export interface RecordKind<Message> {
  /** The envelope of one record. */
  readonly name: string;
  /** The envelope of a list. */
  readonly plural: string;
  readonly schema: z.ZodType;
  readonly references: References<Message>;
  /** Expand keys that name no kind of record. */
  readonly flags: readonly string[];
  readonly render: (message: Message, expansion?: Expansion) => JsonObject;
  /** Where an event carries the record: the case of its `object`. */
  readonly eventCase: EventCase | undefined;
}

/** What an event can carry. */
export type EventCase = NonNullable<Event['object']['case']>;

/** Every public record, by the name of its envelope. */
export const records = {
  balance_transaction: record('balance_transaction', {
    schema: balanceTransactionSchema,
    render: renderBalanceTransaction,
  }),
  capture: record('capture', { schema: captureSchema, render: renderCapture, references: captureReferences }),
  charge: record('charge', {
    schema: chargeSchema,
    render: renderCharge,
    references: chargeReferences,
    eventCase: 'charge',
  }),
  checkout_session: record('checkout_session', {
    schema: checkoutSessionSchema,
    render: renderCheckoutSession,
    references: checkoutSessionReferences,
    flags: ['discounts'],
    eventCase: 'checkoutSession',
  }),
  coupon: record('coupon', { schema: couponSchema, render: renderCoupon }),
  customer: record('customer', { schema: customerSchema, render: renderCustomer, eventCase: 'customer' }),
  delivery: record('delivery', { schema: deliverySchema, render: renderDelivery, plural: 'deliveries' }),
  dispute: record('dispute', {
    schema: disputeSchema,
    render: renderDispute,
    references: disputeReferences,
    eventCase: 'dispute',
  }),
  event: record('event', {
    schema: eventSchema,
    render: renderPublicEvent as RenderJson<Parameters<typeof renderPublicEvent>[0]>,
  }),
  file: record('file', { schema: fileSchema, render: renderFile }),
  invoice: record('invoice', {
    schema: invoiceSchema,
    render: renderInvoice,
    references: invoiceReferences,
    eventCase: 'invoice',
  }),
  letter: record('letter', {
    schema: letterSchema,
    render: renderLetter,
    references: letterReferences,
    eventCase: 'letter',
  }),
  line_item: record('line_item', { schema: lineItemSchema, render: renderLineItem, references: lineItemReferences }),
  payment_intent: record('payment_intent', {
    schema: paymentIntentSchema,
    render: renderPaymentIntent,
    references: paymentIntentReferences,
    eventCase: 'paymentIntent',
  }),
  payment_link: record('payment_link', {
    schema: paymentLinkSchema,
    render: renderPaymentLink,
    references: paymentLinkReferences,
  }),
  payment_method: record('payment_method', {
    schema: paymentMethodSchema,
    render: renderPaymentMethod,
    references: paymentMethodReferences,
  }),
  payout: record('payout', { schema: payoutSchema, render: renderPayout, references: payoutReferences }),
  price: record('price', { schema: priceSchema, render: renderPrice, references: priceReferences }),
  product: record('product', { schema: productSchema, render: renderProduct, eventCase: 'product' }),
  product_component: record('product_component', { schema: productComponentSchema, render: renderProductComponent }),
  promo_code: record('promo_code', {
    schema: promoCodeSchema,
    render: renderPromoCode,
    references: promoCodeReferences,
  }),
  receipt: record('receipt', { schema: receiptSchema, render: renderReceipt }),
  refund: record('refund', {
    schema: refundSchema,
    render: renderRefund,
    references: refundReferences,
    eventCase: 'refund',
  }),
  setup_intent: record('setup_intent', {
    schema: setupIntentSchema,
    render: renderSetupIntent,
    references: setupIntentReferences,
  }),
  shipping_rate: record('shipping_rate', { schema: shippingRateSchema, render: renderShippingRate }),
  subscription: record('subscription', {
    schema: subscriptionSchema,
    render: renderSubscription,
    references: subscriptionReferences,
    flags: ['discounts'],
    eventCase: 'subscription',
  }),
  test_clock: record('test_clock', { schema: testClockSchema, render: renderTestClock }),
  webhook: record('webhook', { schema: webhookSchema, render: renderWebhook, eventCase: 'webhook' }),
} as const;

/** The envelope name of a public record. */
export type RecordName = keyof typeof records;

/** The message that a record is rendered from. */
export type MessageOf<Name extends RecordName> = Parameters<(typeof records)[Name]['render']>[0];

type RenderJson<Message> = (message: Message, expansion?: Expansion) => JsonObject;

function record<Message>(
  name: string,
  kind: {
    schema: z.ZodType;
    render: RenderJson<Message>;
    plural?: string;
    references?: References<Message>;
    flags?: readonly string[];
    eventCase?: EventCase;
  },
): RecordKind<Message> {
  const { schema, render, plural = `${name}s`, references = {}, flags = [], eventCase } = kind;
  return { name, plural, schema, references, flags, render, eventCase };
}
