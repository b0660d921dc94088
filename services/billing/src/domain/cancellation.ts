import { Failure } from '@eligo/failures';
import { allocate, type Cents, cents, periodAround, sumCents } from '@eligo/values';
import { discountsAt, type StoredDiscount } from './discounts.ts';
import { owesFirstPeriod } from './due-step.ts';
import { periodTotals } from './finalized-invoice.ts';
import { type KeptShare, keptOf } from './kept-share.ts';
import { type PaidTime, unusedOfTimes } from './paid-time.ts';
import {
  type LapsingCredit,
  lapsingOf,
  type Proration,
  type RestOfPeriod,
  unusedPart,
  type Waiting,
  waitingOf,
} from './proration.ts';
import type { Subscription } from './subscription.ts';
import { subscriptionStates } from './subscription-states.ts';

export type CancellationRefund = 'none' | 'full' | 'prorated' | 'custom';

/** How a subscription is to end (interface, DELETE /v1/subscriptions/{id}). */
export interface Cancellation {
  readonly atPeriodEnd: boolean;
  readonly refund: CancellationRefund;
  readonly refundAmountCents: Cents | null;
}

/** What a cancellation does: the subscription as it then is, and what is to be refunded of the payments of its present period. */
export interface DecidedCancellation {
  readonly subscription: Subscription;
  readonly refundCents: Cents;
}

/** What a card paid of an invoice, or a session of both its cards: what is left after refunds and disputes, and the time that it is for. */
export interface LeftOfPayment {
  /** What it paid, of a session for time alone. */
  readonly paidCents: Cents;
  readonly leftCents: Cents;
  /** The times that it is for: not what a session sold once, nor what an invoice carries of an earlier period. Only `prorated` asks for them. */
  readonly times: readonly PaidTime[];
  /** The lines that it paid: those that a health card may pay, the others, or all. */
  readonly lines: 'eligible' | 'other' | 'all';
  readonly periodStart: Date;
  readonly periodEnd: Date;
}

/** What a refund can come from. */
export interface Refundable {
  /** The payments of the paid invoices of the present period, newest first. */
  readonly payments: readonly LeftOfPayment[];
  /** The items, without what an open invoice invoiced them at: that is unpaid. */
  readonly items: Subscription['items'];
  /** What the shop has kept of the payments of the present period. Only `prorated` asks for it. */
  readonly kept: KeptShare;
  /** What no invoice carries yet. */
  readonly pending: readonly Proration[];
  /** The credits of an open invoice, which lapse with it. Only `prorated` asks for them. */
  readonly lapsing: readonly LapsingCredit[];
}

/**
 * Decides a cancellation at `at`, the acting customer's time. Throws `subscription_not_cancelable` for one that has ended, and a 422 for a
 * custom refund without a positive amount, for more than was paid and is not taken back, and for a refund together with
 * `cancel_at_period_end`: what the customer has paid for is still delivered then.
 */
export function decideCancellation(
  subscription: Subscription,
  cancellation: Cancellation,
  refundable: Refundable,
  at: Date,
): DecidedCancellation {
  if (!subscriptionStates.canMove(subscription.status, 'canceled')) throw new Failure('subscription_not_cancelable');
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
  const refundCents = refundOf(subscription, cancellation, refundable, at);
  return { subscription: { ...subscription, status: 'canceled', canceledAt: at }, refundCents };
}

/**
 * Whether a change asks that a subscription ends with its period, and that period is over, as of one that is paused or owes for it. It ends when this is asked:
 * nothing of the period is left. One whose trial the partner ended has its first period before it.
 */
export function endsWithPastPeriod(before: Subscription, after: Subscription, at: Date): boolean {
  const asks = after.cancelAtPeriodEnd && !before.cancelAtPeriodEnd;
  return asks && before.currentPeriodEnd <= at && !owesFirstPeriod(after);
}

function refundOf(subscription: Subscription, cancellation: Cancellation, refundable: Refundable, at: Date): Cents {
  const left = sumCents(refundable.payments.map(({ leftCents }) => leftCents));
  switch (cancellation.refund) {
    case 'none':
      return cents(0);
    case 'full':
      return left;
    case 'prorated':
      return unusedOf(subscription, refundable, left, at);
    case 'custom': {
      const amount = cancellation.refundAmountCents;
      if (amount === null || amount <= 0) {
        throw Failure.invalid(
          ['body', 'subscription', 'refund_amount'],
          'refund_amount_invalid',
          'A custom refund requires a positive refund_amount.',
        );
      }
      if (amount > left) {
        throw Failure.invalid(
          ['body', 'subscription', 'refund_amount'],
          'refund_amount_exceeds_remaining',
          left === 0
            ? 'Nothing remains of the amount paid for the present period. Leave refund out, or send none.'
            : `Send at most ${left}. That is what remains of the amount paid for the present period.`,
        );
      }
      return amount;
    }
  }
}

// The value of the unused time: of what the items were invoiced at in this period, as far as it was paid and the shop has kept it. At most what is left of the payments.
function unusedOf(
  subscription: Subscription,
  { payments, items, kept, pending }: Refundable,
  leftCents: Cents,
  at: Date,
): Cents {
  const oldest = payments.at(-1);
  if (oldest === undefined) return cents(0);
  const { currentPeriodStart, currentPeriodEnd } = subscription;
  if (at >= currentPeriodEnd) return cents(0);
  const period = presentPeriod(subscription, at);
  const discounts = discountsAt(subscription.discounts as readonly StoredDiscount[], at);
  const totals = periodTotals(items, discounts);
  const wholeCents = sumCents(items.map(({ invoicedCents }, index) => invoicedCents ?? totals[index] ?? cents(0)));
  const waiting = waitingOf(pending, { start: currentPeriodStart, end: currentPeriodEnd });
  const unused = unusedPart(keptOfItems(wholeCents, waiting, kept), { period, at });
  // A session that was paid in part does not say what was paid of an item.
  const isKnown = items.every(({ invoicedCents }) => invoicedCents !== null);
  const keptCents = cents(Math.min(leftCents, Math.max(0, kept.paidCents - kept.takenBackCents)));
  const most = isKnown ? leftCents : unusedPart(keptCents, { period: periodOf(oldest), at });
  return cents(Math.min(unused, most));
}

// A period that a resumed subscription goes on with began before it was resumed.
function presentPeriod(subscription: Subscription, at: Date) {
  const { anchor, currentPeriodStart: start, currentPeriodEnd: end } = subscription;
  return anchor > at ? { start, end } : periodAround(anchor, subscription, at);
}

// What the shop has kept of what the items were invoiced at, as a whole period. A pending credit was reduced to that when it was made: it pays its part as it is, but never more than is kept in all.
function keptOfItems(wholeCents: Cents, { chargedCents, creditedCents }: Waiting, kept: KeptShare): Cents {
  const ownCents = wholeCents - chargedCents;
  if (ownCents < 0) return cents(Math.max(0, ownCents + creditedCents));
  const ownKept = keptOf(cents(ownCents), kept);
  if (kept.takenBackCents === 0) return cents(ownKept + creditedCents);
  const mostCents = Math.max(0, kept.paidCents - kept.takenBackCents - ownKept);
  return cents(ownKept + Math.min(creditedCents, mostCents));
}

function periodOf({ periodStart, periodEnd }: LeftOfPayment) {
  return { start: periodStart, end: periodEnd };
}

/**
 * What of a refund comes from each payment. `prorated` is the unused time of what was paid, so each card gets its own: in proportion to the unused time of its payment, without what lapses of that, and
 * no more than that while they have enough together. Another refund is in proportion to what is left of each.
 */
export function partsOfRefund(
  subscription: Subscription,
  { refundCents, refund }: { readonly refundCents: Cents; readonly refund: CancellationRefund },
  { payments, pending, lapsing }: Pick<Refundable, 'payments' | 'pending' | 'lapsing'>,
  at: Date,
): Cents[] {
  const { currentPeriodStart: start, currentPeriodEnd: end } = subscription;
  const unused =
    refund === 'prorated'
      ? withoutLapsing(payments, [...lapsing, ...lapsingOf(pending, { start, end })], {
          period: presentPeriod(subscription, at),
          at,
        })
      : payments.map(({ leftCents }) => leftCents);
  const unusedCents = sumCents(unused);
  if (refundCents <= unusedCents) return allocate(refundCents, unused);
  // A credit of an earlier period paid a part of this one, or the period was resumed.
  const others = payments.map(({ leftCents }, index) => leftCents - (unused[index] ?? 0));
  const rest = allocate(cents(refundCents - unusedCents), others);
  return unused.map((amount, index) => cents(amount + (rest[index] ?? 0)));
}

// The unused time of each payment. A change within the period took from the time that its own part was paid for: a credit of what a health card paid lowers no other payment. Of a
// payment of which a part is refunded, it lowers what is left alone.
function withoutLapsing(
  payments: readonly LeftOfPayment[],
  lapsing: readonly LapsingCredit[],
  rest: RestOfPeriod,
): Cents[] {
  return lapsing.reduce(
    (unused, { eligible, wholeCents }) => {
      const isOwn = ({ lines }: LeftOfPayment) => lines === 'all' || (lines === 'eligible') === eligible;
      const own = payments.map((one, index) => (isOwn(one) ? unused[index] : undefined) ?? cents(0));
      const lapsing = keptOf(unusedPart(wholeCents, rest), keptShareOf(payments.filter(isOwn)));
      const lapsed = allocate(cents(Math.min(lapsing, sumCents(own))), own);
      return unused.map((amount, index) => cents(amount - (lapsed[index] ?? 0)));
    },
    payments.map(({ leftCents, times }) => cents(Math.min(leftCents, unusedOfTimes(times, rest.at)))),
  );
}

function keptShareOf(payments: readonly LeftOfPayment[]): KeptShare {
  const paidCents = sumCents(payments.map((one) => one.paidCents));
  const leftCents = sumCents(payments.map((one) => one.leftCents));
  return { paidCents, takenBackCents: cents(Math.max(0, paidCents - leftCents)) };
}
