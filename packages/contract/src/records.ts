import type { z } from 'zod';
import type { Expansion, References } from './expansion.ts';
import type { JsonObject } from './json.ts';
import { chargeReferences, chargeSchema, renderCharge } from './resources/charge.ts';
import {
  checkoutSessionReferences,
  checkoutSessionSchema,
  renderCheckoutSession,
} from './resources/checkout-session.ts';
import { couponSchema, renderCoupon } from './resources/coupon.ts';
import { customerSchema, renderCustomer } from './resources/customer.ts';
import { invoiceReferences, invoiceSchema, renderInvoice } from './resources/invoice.ts';
import { lineItemReferences, lineItemSchema, renderLineItem } from './resources/line-item.ts';
import { paymentIntentReferences, paymentIntentSchema, renderPaymentIntent } from './resources/payment-intent.ts';
import { paymentMethodReferences, paymentMethodSchema, renderPaymentMethod } from './resources/payment-method.ts';
import { priceReferences, priceSchema, renderPrice } from './resources/price.ts';
import { productSchema, renderProduct } from './resources/product.ts';
import { productComponentSchema, renderProductComponent } from './resources/product-component.ts';
import { promoCodeReferences, promoCodeSchema, renderPromoCode } from './resources/promo-code.ts';
import { refundSchema, renderRefund } from './resources/refund.ts';
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
  /** Expand keys that take no look-up: what they show travels with the record. */
  readonly flags: readonly string[];
  readonly render: (message: Message, expansion?: Expansion) => JsonObject;
}

/** Every public record, by the name of its envelope. */
export const records = {
  charge: record('charge', 'charges', chargeSchema, renderCharge, chargeReferences),
  checkout_session: record(
    'checkout_session',
    'checkout_sessions',
    checkoutSessionSchema,
    renderCheckoutSession,
    checkoutSessionReferences,
    ['discounts', 'coupons'],
  ),
  coupon: record('coupon', 'coupons', couponSchema, renderCoupon),
  customer: record('customer', 'customers', customerSchema, renderCustomer),
  delivery: record('delivery', 'deliveries', deliverySchema, renderDelivery),
  event: record(
    'event',
    'events',
    eventSchema,
    renderPublicEvent as RenderJson<Parameters<typeof renderPublicEvent>[0]>,
  ),
  invoice: record('invoice', 'invoices', invoiceSchema, renderInvoice, invoiceReferences),
  line_item: record('line_item', 'line_items', lineItemSchema, renderLineItem, lineItemReferences),
  payment_intent: record(
    'payment_intent',
    'payment_intents',
    paymentIntentSchema,
    renderPaymentIntent,
    paymentIntentReferences,
  ),
  payment_method: record(
    'payment_method',
    'payment_methods',
    paymentMethodSchema,
    renderPaymentMethod,
    paymentMethodReferences,
  ),
  price: record('price', 'prices', priceSchema, renderPrice, priceReferences),
  product: record('product', 'products', productSchema, renderProduct),
  product_component: record('product_component', 'product_components', productComponentSchema, renderProductComponent),
  promo_code: record('promo_code', 'promo_codes', promoCodeSchema, renderPromoCode, promoCodeReferences),
  refund: record('refund', 'refunds', refundSchema, renderRefund),
  setup_intent: record('setup_intent', 'setup_intents', setupIntentSchema, renderSetupIntent, setupIntentReferences),
  shipping_rate: record('shipping_rate', 'shipping_rates', shippingRateSchema, renderShippingRate),
  subscription: record(
    'subscription',
    'subscriptions',
    subscriptionSchema,
    renderSubscription,
    subscriptionReferences,
    ['discounts', 'coupons'],
  ),
  test_clock: record('test_clock', 'test_clocks', testClockSchema, renderTestClock),
  webhook: record('webhook', 'webhooks', webhookSchema, renderWebhook),
} as const;

/** The envelope name of a public record. */
export type RecordName = keyof typeof records;

/** The message that a record is rendered from. */
export type MessageOf<Name extends RecordName> = Parameters<(typeof records)[Name]['render']>[0];

type RenderJson<Message> = (message: Message, expansion?: Expansion) => JsonObject;

function record<Message>(
  name: string,
  plural: string,
  schema: z.ZodType,
  render: RenderJson<Message>,
  references: References<Message> = {},
  flags: readonly string[] = [],
): RecordKind<Message> {
  return { name, plural, schema, references, flags, render };
}
