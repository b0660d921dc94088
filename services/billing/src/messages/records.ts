import { create, fromJson, type JsonValue } from '@bufbuild/protobuf';
import type { Scope } from '@eligo/postgres';
import {
  type Invoice as InvoiceMessage,
  InvoiceSchema,
  type Subscription as SubscriptionMessage,
  SubscriptionSchema,
  type TestClock as TestClockMessage,
  TestClockSchema,
} from '@eligo/proto/billing/v1/billing';
import { DiscountSchema } from '@eligo/proto/checkout/v1/checkout';
import { present } from '@eligo/values';
import type { Invoice } from '../domain/invoice.ts';
import type { Subscription } from '../domain/subscription.ts';
import type { TestClock } from '../domain/test-clock.ts';

/** The message of a subscription, as every call and event carries it. */
export function subscriptionMessage(scope: Scope, subscription: Subscription): SubscriptionMessage {
  return create(SubscriptionSchema, {
    subscriptionId: subscription.id,
    createdAtMs: msOf(subscription.createdAt),
    items: subscription.items.map((item) => ({
      subscriptionItemId: item.id,
      priceId: item.priceId,
      quantity: BigInt(item.quantity),
      createdAtMs: msOf(item.createdAt),
      updatedAtMs: msOf(item.updatedAt),
      testMode: scope.testMode,
    })),
    customerId: subscription.customerId,
    status: subscription.status,
    cancelAtPeriodEnd: subscription.cancelAtPeriodEnd,
    currentPeriodStartMs: msOf(subscription.currentPeriodStart),
    currentPeriodEndMs: msOf(subscription.currentPeriodEnd),
    metadata: { ...subscription.metadata },
    testMode: scope.testMode,
    discounts: subscription.discounts.map((discount) => fromJson(DiscountSchema, discount as JsonValue)),
    ...present({
      latestInvoiceId: subscription.latestInvoiceId,
      trialStartMs: msOrNull(subscription.trialStart),
      trialEndMs: msOrNull(subscription.trialEnd),
      cancelAtMs: msOrNull(subscription.cancelAt),
      canceledAtMs: msOrNull(subscription.canceledAt),
      prorationBehavior: subscription.prorationBehavior,
      defaultPaymentMethodId: subscription.defaultPaymentMethodId,
      backupPaymentMethodId: subscription.backupPaymentMethodId,
      checkoutSessionId: subscription.checkoutSessionId,
    }),
  });
}

/** The message of an invoice. */
export function invoiceMessage(scope: Scope, invoice: Invoice): InvoiceMessage {
  const due = invoice.status === 'void' ? 0 : invoice.totalCents - invoice.amountPaidCents;
  return create(InvoiceSchema, {
    invoiceId: invoice.id,
    totalCents: BigInt(invoice.totalCents),
    amountDueCents: BigInt(due),
    amountPaidCents: BigInt(invoice.amountPaidCents),
    customerId: invoice.customerId,
    periodStartMs: msOf(invoice.periodStart),
    periodEndMs: msOf(invoice.periodEnd),
    status: invoice.status,
    collectionMethod: 'charge_automatically',
    testMode: scope.testMode,
    metadata: { ...invoice.metadata },
    createdAtMs: msOf(invoice.createdAt),
    ...present({
      paymentIntentId: invoice.paymentIntentId,
      chargeId: invoice.chargeId,
      subscriptionId: invoice.subscriptionId,
      paidAtMs: msOrNull(invoice.paidAt),
      backupChargeStatus: invoice.backupChargeStatus,
      pageUrl: invoice.pageUrl,
    }),
  });
}

/** The message of a test clock. */
export function testClockMessage(clock: TestClock, deleted = false): TestClockMessage {
  return create(TestClockSchema, {
    testClockId: clock.id,
    frozenTimeMs: msOf(clock.frozenTime),
    status: clock.status,
    createdAtMs: msOf(clock.createdAt),
    deleted,
    ...present({ name: clock.name }),
  });
}

function msOf(date: Date): bigint {
  return BigInt(date.getTime());
}

function msOrNull(date: Date | null): bigint | null {
  return date === null ? null : msOf(date);
}

// A message's optional field is not set by null.
