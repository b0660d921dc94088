import { type Scope, withTx } from '@eligo/postgres';
import { cents } from '@eligo/values';
import { cancelSubscription } from '../src/actions/cancel-subscription.ts';
import { pause, resume } from '../src/actions/pause-and-resume.ts';
import { payInvoice } from '../src/actions/pay-invoice.ts';
import { payInvoiceOnPage } from '../src/actions/pay-invoice-on-page.ts';
import { recordSetUp } from '../src/actions/record-set-up.ts';
import { resendReceipts } from '../src/actions/resend-receipts.ts';
import { resumeInvoicePayment } from '../src/actions/resume-invoice-payment.ts';
import { retryWithUpdatedCard } from '../src/actions/retry-with-updated-card.ts';
import { type SubscriptionUpdate, updateSubscription } from '../src/actions/update-subscription.ts';
import { voidInvoice } from '../src/actions/void-invoice.ts';
import type { Cancellation } from '../src/domain/cancellation.ts';
import { runDueSubscriptions } from '../src/jobs/run-due.ts';
import { callOf, type Fixture } from './fixture.ts';

/** A subscription that was brought to a status by what happens to subscriptions. */
export interface Brought {
  readonly scope: Scope;
  readonly id: string;
  readonly customerId: string;
  readonly card: string;
  /** Of its two items of 15.00. */
  readonly priceIds: readonly string[];
}

export type Ask = (of: Brought & { readonly invoiceId: string }, on: Fixture) => Promise<unknown>;

/** When the calls are made: in the middle of a period, after the last try of one account and before the second try of another one. */
export const now = '2026-05-02T12:00:00.000Z';
export const later = (days: number) => new Date(Date.parse(now) + days * 86_400_000);

const update =
  (change: Partial<SubscriptionUpdate> | ((of: Brought, on: Fixture) => Partial<SubscriptionUpdate>)): Ask =>
  (of, on) =>
    updateSubscription(on.context, callOf(of.scope), of.id, {
      ...{ discount: { couponId: null, promoCode: null }, clearsDiscounts: false },
      ...(typeof change === 'function' ? change(of, on) : change),
    });

const otherItems = (prorationBehavior?: string, interval = 'month') =>
  update((_of, on) => ({
    items: [{ priceId: on.peers.price({ unitAmountCents: 9_000, recurring: { interval } }), quantity: 1 }],
    ...(prorationBehavior === undefined ? {} : { prorationBehavior }),
  }));

/** The items that it has, each so many times, and others beside them. */
const sameItems = (quantities: readonly number[], others = 0) =>
  update(({ priceIds }, on) => ({
    items: [
      ...quantities.map((quantity, at) => ({ priceId: priceIds[at] ?? '', quantity })),
      ...Array.from({ length: others }, () => ({ priceId: on.peers.price(), quantity: 1 })),
    ],
  }));

/** Clears what was given before, where it could be given. */
const clearing =
  (change: Partial<SubscriptionUpdate>, given: Parameters<typeof update>[0]): Ask =>
  async (of, on) => {
    await update(given)(of, on).catch(() => undefined);
    return update(change)(of, on);
  };

const cancel =
  (asked: Partial<Cancellation>): Ask =>
  ({ scope, id }, on) =>
    cancelSubscription(on.context, scope, id, {
      atPeriodEnd: false,
      refund: 'none',
      refundAmountCents: null,
      ...asked,
    });

const pay =
  (behavior: 'pays' | 'insufficient_funds'): Ask =>
  ({ scope, customerId, invoiceId }, on) =>
    payInvoice(on.context, callOf(scope), invoiceId, on.peers.cardOf(customerId, true, behavior));

// Later than the end of every period and trial, which no job has looked at by then.
const afterPeriod =
  (ask: Ask): Ask =>
  (of, on) => {
    on.at(later(90));
    return ask(of, on);
  };

const itsTimeEnds = 'its period, trial, 23 hours or last try ends';
const itsTimeEndsDeleted = 'the same, and its customer was deleted';

// The calls of the table in decisions 14.262, by the text of its first column.
export const calls: Readonly<Record<string, Ask>> = {
  '`PATCH` without a change': update({}),
  '`PATCH` `metadata`': update({ metadata: { plan: 'gold' } }),
  '`PATCH` `default_payment_method`, which pays': update((of, on) => ({
    defaultPaymentMethodId: on.peers.cardOf(of.customerId, true),
  })),
  '`PATCH` `backup_payment_method`, where a health card may pay everything': update((of, on) => ({
    backupPaymentMethodId: on.peers.cardOf(of.customerId, false),
  })),
  '`PATCH` `default_payment_method`, which is declined': update((of, on) => ({
    defaultPaymentMethodId: on.peers.cardOf(of.customerId, true, 'insufficient_funds'),
  })),
  '`PATCH` `cancel_at_period_end`': update({ cancelAtPeriodEnd: true }),
  '`PATCH` `cancel_at_period_end` `false`': update({ cancelAtPeriodEnd: false }),
  '`PATCH` `cancel_at_period_end`, its period is over': afterPeriod(update({ cancelAtPeriodEnd: true })),
  '`PATCH` `cancel_at`': update({ cancelAt: later(2) }),
  '`PATCH` `cancel_at` in the past': update({ cancelAt: later(-1) }),
  '`PATCH` `coupon`': update((_of, on) => ({
    discount: { couponId: on.peers.coupon({ percentOffBasisPoints: 1_000, duration: 'forever' }), promoCode: null },
  })),
  '`PATCH` `promo_code`': update((_of, on) => ({
    discount: { couponId: null, promoCode: on.peers.coupon({ percentOffBasisPoints: 1_000, duration: 'forever' }) },
  })),
  '`PATCH` `trial_end`, later': update({ trialEnd: later(40) }),
  '`PATCH` `trial_end` in the past': update({ trialEnd: later(-1) }),
  '`PATCH` `trial_end` `now`': update({ trialEnd: 'now' }),
  '`PATCH` `trial_end` `now` and `cancel_at_period_end`': update({ trialEnd: 'now', cancelAtPeriodEnd: true }),
  '`PATCH` `proration_behavior`': update({ prorationBehavior: 'always_invoice' }),
  '`PATCH` `items` with `always_invoice`': otherItems('always_invoice'),
  '`PATCH` `items` with `create_prorations`': otherItems('create_prorations'),
  '`PATCH` `items` with `none`': otherItems('none'),
  '`PATCH` `items` alone': otherItems(),
  '`PATCH` `items` of another interval': otherItems('create_prorations', 'year'),
  '`PATCH` `items`, more of one': sameItems([2, 1]),
  '`PATCH` `items`, one less': sameItems([1]),
  '`PATCH` `items`, one more': sameItems([1, 1], 1),
  '`PATCH` `items`, those that it has': sameItems([1, 1]),
  '`PATCH` `clear` `cancel_at`': clearing({ cancelAt: null }, { cancelAt: later(2) }),
  '`PATCH` `clear` `coupon`': clearing({ clearsDiscounts: true }, (_of, on) => ({
    discount: { couponId: on.peers.coupon({ percentOffBasisPoints: 1_000, duration: 'forever' }), promoCode: null },
  })),
  '`PATCH` `clear` `default_payment_method`': update({ defaultPaymentMethodId: null }),
  '`PATCH` `clear` `backup_payment_method`': clearing({ backupPaymentMethodId: null }, (of, on) => ({
    backupPaymentMethodId: on.peers.cardOf(of.customerId, false, 'insufficient_funds'),
  })),
  '`POST` `/pause`': ({ scope, id }, on) => pause(on.context, callOf(scope), id),
  '`POST` `/resume`': ({ scope, id }, on) => resume(on.context, callOf(scope), id, false),
  '`POST` `/resume` with `billing_cycle_anchor` `unchanged`': ({ scope, id }, on) =>
    resume(on.context, callOf(scope), id, true),
  '`DELETE`': cancel({}),
  '`DELETE` with `refund` `full`': cancel({ refund: 'full' }),
  '`DELETE` with `refund` `prorated`': cancel({ refund: 'prorated' }),
  '`DELETE` with `refund` `custom` and a `refund_amount`': cancel({ refund: 'custom', refundAmountCents: cents(100) }),
  '`DELETE` with `refund` `custom` without a `refund_amount`': cancel({ refund: 'custom' }),
  '`DELETE` with `cancel_at_period_end`': cancel({ atPeriodEnd: true }),
  '`DELETE` with `cancel_at_period_end`, its period is over': afterPeriod(cancel({ atPeriodEnd: true })),
  '`DELETE` with `cancel_at_period_end` and a refund': cancel({ atPeriodEnd: true, refund: 'full' }),
  'its latest invoice: `/pay` with a `payment_method` that pays': pay('pays'),
  'its latest invoice: `/pay` with a `payment_method` that is declined': pay('insufficient_funds'),
  'its latest invoice: `/pay` without a card, and its own pays': async ({ scope, card, invoiceId }, on) => {
    on.peers.behave(card, 'pays');
    await payInvoice(on.context, callOf(scope), invoiceId, undefined);
  },
  'its latest invoice: `/pay` without a card, and its own is declined': ({ scope, invoiceId }, on) =>
    payInvoice(on.context, callOf(scope), invoiceId, undefined),
  'its latest invoice: `/void`': ({ scope, invoiceId }, on) => voidInvoice(on.context, callOf(scope), invoiceId),
  'the page of its latest invoice, with a card that pays': async ({ scope, invoiceId }, on) => {
    const cards = [{ processorPaymentMethodId: on.peers.typed('pays'), slot: 'health' }] as const;
    await payInvoiceOnPage(on.context, callOf(scope), invoiceId, cards);
  },
  'the page of its latest invoice, with a card that is declined': async ({ scope, invoiceId }, on) => {
    const cards = [{ processorPaymentMethodId: on.peers.typed('insufficient_funds'), slot: 'health' }] as const;
    await payInvoiceOnPage(on.context, callOf(scope), invoiceId, cards);
  },
  'the page of its latest invoice, which asks what became of a payment': ({ scope, invoiceId }, on) =>
    resumeInvoicePayment(on.context, callOf(scope), invoiceId, false),
  '`POST` `/receipts/resend`': ({ scope, id }, on) => resendReceipts(on.context, scope, id),
  'the network replaces its card': async ({ scope, card }, on) => {
    on.peers.behave(card, 'pays');
    await withTx(on.database, scope, (tx) => retryWithUpdatedCard(on.context, tx, scope, card));
    while (await runDueSubscriptions(on.context));
  },
  'its customer sets up a card that pays, in place of its own': async ({ scope, id, customerId, card }, on) => {
    const setUp = {
      subscriptionId: id,
      paymentMethodId: on.peers.cardOf(customerId, true),
      namedPaymentMethodId: card,
    };
    await withTx(on.database, scope, (tx) => recordSetUp(on.context, tx, scope, setUp));
    while (await runDueSubscriptions(on.context));
  },
  [itsTimeEnds]: () => Promise.resolve(),
  [itsTimeEndsDeleted]: async ({ customerId }, on) => on.peers.deleteCustomer(customerId),
};

// After these calls, the days of the schedule of an account by default pass, and then the ends of a period and of a trial.
export const letTimePass: ReadonlySet<string> = new Set([itsTimeEnds, itsTimeEndsDeleted]);
