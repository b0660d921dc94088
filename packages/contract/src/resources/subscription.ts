import type { Subscription, SubscriptionItem } from '@eligo/proto/billing/v1/billing';
import { z } from 'zod';
import { type Expansion, expandable, expandsTo, noExpansion, type References } from '../expansion.ts';
import { answer, idOf } from '../fields.ts';
import { isoTime } from '../times.ts';
import { couponReference, discountSchema, renderDiscount } from './discount.ts';

export const subscriptionStatuses = [
  'incomplete',
  'incomplete_expired',
  'trialing',
  'active',
  'past_due',
  'canceled',
  'unpaid',
  'paused',
] as const;

const subscriptionItemSchema = z.strictObject({
  subscription_item_id: idOf('subscription_item'),
  price: expandable('price'),
  quantity: z.int(),
  created_at: answer.time,
  updated_at: answer.time,
  test_mode: z.boolean(),
});

export const subscriptionSchema = expandsTo(
  'subscription',
  z.strictObject({
    subscription_id: idOf('subscription'),
    created_at: answer.time,
    items: z.array(subscriptionItemSchema),
    latest_invoice: expandable('invoice').nullable(),
    customer: expandable('customer'),
    status: z.enum(subscriptionStatuses),
    cancel_at_period_end: z.boolean(),
    current_period_start: answer.time.nullable(),
    current_period_end: answer.time.nullable(),
    trial_start: answer.time.nullable(),
    trial_end: answer.time.nullable(),
    cancel_at: answer.time.nullable(),
    canceled_at: answer.time.nullable(),
    metadata: answer.metadata,
    test_mode: z.boolean(),
    client_secret: z.strictObject({ setup_secret: answer.text, payment_secret: answer.text }).nullable(),
    proration_behavior: answer.text,
    default_payment_method: expandable('payment_method').nullable(),
    backup_payment_method: expandable('payment_method').nullable(),
    discounts: z.array(discountSchema),
  }),
);

/** The expand keys of a subscription with their aliases (interface, Subscriptions). */
export const subscriptionReferences: References<Subscription> = {
  coupons: couponReference,
  customer: { kind: 'customer', ids: (subscription) => [subscription.customerId] },
  latest_invoice: { kind: 'invoice', aliases: ['invoice'], ids: (subscription) => [subscription.latestInvoiceId] },
  payment_method: {
    kind: 'payment_method',
    aliases: ['default_payment_method', 'backup_payment_method'],
    ids: (subscription) => [subscription.defaultPaymentMethodId, subscription.backupPaymentMethodId],
  },
  price: {
    kind: 'price',
    aliases: ['product'],
    ids: (subscription) => subscription.items.map((item) => item.priceId),
  },
};

export function renderSubscription(
  subscription: Subscription,
  expansion: Expansion = noExpansion,
): z.infer<typeof subscriptionSchema> {
  return {
    subscription_id: subscription.subscriptionId,
    created_at: isoTime(subscription.createdAtMs),
    items: subscription.items.map((item) => renderItem(item, expansion)),
    latest_invoice: expansion.of('invoice', subscription.latestInvoiceId),
    customer: expansion.of('customer', subscription.customerId),
    status: subscription.status as z.infer<typeof subscriptionSchema>['status'],
    cancel_at_period_end: subscription.cancelAtPeriodEnd,
    current_period_start: optionalTime(subscription.currentPeriodStartMs),
    current_period_end: optionalTime(subscription.currentPeriodEndMs),
    trial_start: optionalTime(subscription.trialStartMs),
    trial_end: optionalTime(subscription.trialEndMs),
    cancel_at: optionalTime(subscription.cancelAtMs),
    canceled_at: optionalTime(subscription.canceledAtMs),
    metadata: subscription.metadata,
    test_mode: subscription.testMode,
    client_secret:
      subscription.setupSecret === undefined && subscription.paymentSecret === undefined
        ? null
        : { setup_secret: subscription.setupSecret ?? null, payment_secret: subscription.paymentSecret ?? null },
    proration_behavior: subscription.prorationBehavior ?? null,
    default_payment_method: expansion.of('payment_method', subscription.defaultPaymentMethodId),
    backup_payment_method: expansion.of('payment_method', subscription.backupPaymentMethodId),
    discounts: subscription.discounts.map((discount) => renderDiscount(discount, expansion)),
  };
}

function renderItem(item: SubscriptionItem, expansion: Expansion): z.infer<typeof subscriptionItemSchema> {
  return {
    subscription_item_id: item.subscriptionItemId,
    price: expansion.of('price', item.priceId),
    quantity: Number(item.quantity),
    created_at: isoTime(item.createdAtMs),
    updated_at: isoTime(item.updatedAtMs),
    test_mode: item.testMode,
  };
}

function optionalTime(ms: bigint | undefined): string | null {
  return ms === undefined ? null : isoTime(ms);
}
