import type { BillingService, UpdateSubscriptionRequest } from '@eligo/proto/billing/v1/billing';
import type { Implementation } from '@eligo/rpc';
import { createSubscription } from '../actions/create-subscription.ts';
import { pause, resume } from '../actions/pause-and-resume.ts';
import { payInvoice } from '../actions/pay-invoice.ts';
import { type SubscriptionUpdate, updateSubscription } from '../actions/update-subscription.ts';
import { voidInvoice } from '../actions/void-invoice.ts';
import type { Context } from '../context.ts';
import { invoiceMessage, subscriptionMessage } from '../messages/records.ts';

type SubscriptionWrites = Pick<
  Implementation<typeof BillingService>,
  | 'createSubscription'
  | 'updateSubscription'
  | 'pauseSubscription'
  | 'resumeSubscription'
  | 'payInvoice'
  | 'voidInvoice'
>;

/** The calls that create and change subscriptions, and pay and void their invoices. */
export function subscriptionWriteHandlers(context: Context): SubscriptionWrites {
  return {
    createSubscription: (request, call) =>
      createSubscription(
        context,
        call,
        {
          customerId: request.customerId,
          items: request.items.map(({ priceId, quantity }) => ({ priceId, quantity: Number(quantity) })),
          discount: discountOf(request.discount),
          trialEnd: dateOf(request.trialEndMs),
          trialDays: request.trialPeriodDays ?? null,
          missingPaymentMethod: request.missingPaymentMethod ?? null,
          cancelAt: dateOf(request.cancelAtMs),
          cancelAtPeriodEnd: request.cancelAtPeriodEnd,
          defaultPaymentMethodId: request.defaultPaymentMethodId ?? null,
          backupPaymentMethodId: request.backupPaymentMethodId ?? null,
          prorationBehavior: request.prorationBehavior ?? null,
          metadata: request.metadata,
        },
        request.idempotency,
      ),

    async updateSubscription(request, call) {
      return subscriptionMessage(call.scope, await updateSubscription(context, call, request.id, updateOf(request)));
    },

    async pauseSubscription({ id }, call) {
      return subscriptionMessage(call.scope, await pause(context, call, id));
    },

    async resumeSubscription({ id, keepsAnchor }, call) {
      return subscriptionMessage(call.scope, await resume(context, call, id, keepsAnchor));
    },

    async payInvoice({ id, paymentMethodId }, call) {
      return invoiceMessage(call.scope, await payInvoice(context, call, id, paymentMethodId));
    },

    async voidInvoice({ id }, call) {
      return invoiceMessage(call.scope, await voidInvoice(context, call, id));
    },
  };
}

function updateOf(request: UpdateSubscriptionRequest): SubscriptionUpdate {
  const { trial, metadata, clear } = request;
  const cleared = (field: string) => (clear.includes(field) ? null : undefined);
  return {
    cancelAtPeriodEnd: request.cancelAtPeriodEnd,
    cancelAt: dateOf(request.cancelAtMs) ?? cleared('cancel_at'),
    trialEnd: trial.case === 'trialEndMs' ? new Date(Number(trial.value)) : trial.value === true ? 'now' : undefined,
    defaultPaymentMethodId: request.defaultPaymentMethodId ?? cleared('default_payment_method'),
    backupPaymentMethodId: request.backupPaymentMethodId ?? cleared('backup_payment_method'),
    prorationBehavior: request.prorationBehavior,
    metadata: metadata?.entries,
    discount: discountOf(request.discount),
    clearsDiscounts: clear.includes('coupon'),
    ...(request.items.length === 0
      ? {}
      : { items: request.items.map(({ priceId, quantity }) => ({ priceId, quantity: Number(quantity) || null })) }),
  };
}

function discountOf(given: { readonly case: string | undefined; readonly value?: string | undefined }) {
  return {
    couponId: given.case === 'couponId' ? (given.value ?? null) : null,
    promoCode: given.case === 'promoCode' ? (given.value ?? null) : null,
  };
}

function dateOf(ms: bigint | undefined): Date | null {
  return ms === undefined ? null : new Date(Number(ms));
}
