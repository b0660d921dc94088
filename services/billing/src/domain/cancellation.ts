import { Failure } from '@eligo/failures';
import { type Cents, cents } from '@eligo/values';
import type { Invoice } from './invoice.ts';
import { unusedPart } from './proration.ts';
import type { Subscription } from './subscription.ts';
import { subscriptionStates } from './subscription-states.ts';

export type CancellationRefund = 'none' | 'full' | 'prorated' | 'custom';

/** How a subscription is to end (interface, DELETE /v1/subscriptions/{id}). */
export interface Cancellation {
  readonly atPeriodEnd: boolean;
  readonly refund: CancellationRefund;
  readonly refundAmountCents: Cents | null;
}

/** What a cancellation does: the subscription as it then is, and what is to be refunded of its latest paid invoice. */
export interface DecidedCancellation {
  readonly subscription: Subscription;
  readonly refundCents: Cents;
}

/**
 * Decides a cancellation at `at`, the acting customer's time. Throws `subscription_not_cancelable` for one that has ended, and a 422 for a
 * custom refund without a positive amount, for more than was paid, and for a refund together with `cancel_at_period_end`: what the customer
 * has paid for is still delivered then.
 */
export function decideCancellation(
  subscription: Subscription,
  invoice: Invoice | undefined,
  cancellation: Cancellation,
  at: Date,
): DecidedCancellation {
  if (!subscriptionStates.canMove(subscription.status, 'canceled')) throw new Failure('subscription_not_cancelable');
  const paid = invoice?.status === 'paid' ? invoice.amountPaidCents : cents(0);
  if (cancellation.atPeriodEnd) {
    if (cancellation.refund !== 'none') {
      throw Failure.invalid(
        ['body', 'subscription', 'refund'],
        'value_error',
        'A subscription that is canceled at the end of its period is not refunded. Leave refund out, or send none.',
      );
    }
    const ending: Subscription = { ...subscription, cancelAtPeriodEnd: true };
    const isOver = endsWithPastPeriod(subscription, ending, at);
    const ended = { status: 'canceled', canceledAt: at } as const;
    return { subscription: isOver ? { ...ending, ...ended } : ending, refundCents: cents(0) };
  }
  const refundCents = refundOf(invoice, paid, cancellation, at);
  return { subscription: { ...subscription, status: 'canceled', canceledAt: at }, refundCents };
}

/**
 * Whether a change asks that a subscription ends with its period, and that period is over, as of one that is paused or owes for it. It ends when this is asked:
 * nothing of the period is left.
 */
export function endsWithPastPeriod(before: Subscription, after: Subscription, at: Date): boolean {
  return after.cancelAtPeriodEnd && !before.cancelAtPeriodEnd && before.currentPeriodEnd <= at;
}

function refundOf(invoice: Invoice | undefined, paid: Cents, cancellation: Cancellation, at: Date): Cents {
  switch (cancellation.refund) {
    case 'none':
      return cents(0);
    case 'full':
      return paid;
    case 'prorated':
      return invoice === undefined ? cents(0) : unusedPart(paid, { period: periodOf(invoice), at });
    case 'custom': {
      const amount = cancellation.refundAmountCents;
      if (amount === null || amount <= 0) {
        throw Failure.invalid(
          ['body', 'subscription', 'refund_amount'],
          'refund_amount_invalid',
          'A custom refund requires a positive refund_amount.',
        );
      }
      if (amount > paid) {
        throw Failure.invalid(
          ['body', 'subscription', 'refund_amount'],
          'refund_amount_exceeds_remaining',
          'refund_amount exceeds the amount paid on the latest invoice.',
        );
      }
      return amount;
    }
  }
}

// What it was paid for: the invoice of a change is for a part of a period.
function periodOf({ periodStart, periodEnd }: Invoice) {
  return { start: periodStart, end: periodEnd };
}
