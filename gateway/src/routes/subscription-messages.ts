import type { routes } from '@eligo/contract';
import { given } from '@eligo/values';
import { metadataOf, timeMs } from '../messages.ts';

type Creation = NonNullable<(typeof routes.subscriptions.create)['body']>['schema']['_output'];

type Change = NonNullable<(typeof routes.subscriptions.update)['body']>['schema']['_output'];

/** A new subscription as billing takes it. */
export function newSubscriptionOf(body: Creation) {
  const { end_behavior } = body.trial_settings ?? {};
  return {
    customerId: body.customer,
    items: body.items.map(itemOf),
    cancelAtPeriodEnd: body.cancel_at_period_end ?? false,
    discount: discountOf(body),
    metadata: body.metadata ?? {},
    ...given({
      defaultPaymentMethodId: body.default_payment_method,
      backupPaymentMethodId: body.backup_payment_method,
      trialEndMs: timeMs(body.trial_end),
      trialPeriodDays: body.trial_period_days,
      missingPaymentMethod: end_behavior?.missing_payment_method,
      cancelAtMs: timeMs(body.cancel_at),
      prorationBehavior: body.proration_behavior,
    }),
  };
}

/** What changes of a subscription, as billing takes it. */
export function subscriptionChangeOf(body: Change) {
  const { trial_end } = body;
  return {
    discount: discountOf(body),
    clear: body.clear ?? [],
    items: (body.items ?? []).map(({ price, quantity }) => ({ priceId: price, quantity: BigInt(quantity ?? 0) })),
    trial: trialOf(trial_end),
    ...given({
      cancelAtPeriodEnd: body.cancel_at_period_end,
      cancelAtMs: timeMs(body.cancel_at),
      defaultPaymentMethodId: body.default_payment_method,
      backupPaymentMethodId: body.backup_payment_method,
      prorationBehavior: body.proration_behavior,
      metadata: metadataOf(body.metadata),
    }),
  };
}

function itemOf({ price, quantity = 1 }: Creation['items'][number]) {
  return { priceId: price, quantity: BigInt(quantity) };
}

function trialOf(end: string | number | undefined) {
  if (end === undefined) return { case: undefined };
  if (end === 'now') return { case: 'trialEndsNow' as const, value: true };
  return { case: 'trialEndMs' as const, value: timeMs(end) };
}

function discountOf({ coupon, promo_code }: { coupon?: string | undefined; promo_code?: string | undefined }) {
  if (coupon !== undefined) return { case: 'couponId' as const, value: coupon };
  if (promo_code !== undefined) return { case: 'promoCode' as const, value: promo_code };
  return { case: undefined };
}
