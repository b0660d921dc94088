import { create } from '@bufbuild/protobuf';
import { appendAll } from '@eligo/events';
import { Failure } from '@eligo/failures';
import { type Scope, type Tx, withTx } from '@eligo/postgres';
import { RefundRequestedSchema } from '@eligo/proto/events/v1/events';
import { type Cents, cents } from '@eligo/values';
import type { Context } from '../context.ts';
import { type Cancellation, decideCancellation, partsOfRefund } from '../domain/cancellation.ts';
import { nothingTakenBack } from '../domain/kept-share.ts';
import type { Subscription } from '../domain/subscription.ts';
import { pendingProrations } from '../store/prorations.ts';
import { findSubscription, lockSubscription, saveSubscription } from '../store/subscriptions.ts';
import { askAwaited, isAwaited } from './ask-awaited.ts';
import { appendSubscriptionEvent } from './billing-events.ts';
import { changeNotNow, refuseWhileCharging, timeOfChange } from './change-subscription.ts';
import { endSubscription } from './end-subscription.ts';
import { type Payment, readRefundable } from './read-refundable.ts';
import { wakeWhenDue } from './wake-when-due.ts';

/**
 * Ends a subscription now or at the end of its period, now if that is over. A refund is a separate operation (interface, Cancel subscription): the cancellation
 * appends a command for it, under an operation id of its own, so that it happens once and not without the cancellation.
 */
export async function cancelSubscription(
  context: Context,
  scope: Scope,
  id: string,
  cancellation: Cancellation,
): Promise<Subscription> {
  let known = await findSubscription(context.database, scope, id);
  if (known !== undefined && !cancellation.atPeriodEnd && (await isAwaited(context, scope, known))) {
    // Refuses what cannot be refunded before the customer is given up.
    decideCancellation(known, cancellation, { ...nothingRefundable, items: known.items }, context.clock.now());
    await askAwaited(context, scope, known, true);
    // The customer paid before the cancellation. The partner decides again, now that the subscription is active.
    known = await findSubscription(context.database, scope, id);
    if (known?.status === 'active') throw changeNotNow();
  }
  const asked = await readRefundable(context, scope, known, cancellation);
  const canceled = await withTx(context.database, scope, async (tx) => {
    const before = await lockSubscription(tx, scope, id);
    if (before === undefined) throw new Failure('subscription_not_found');
    const { at, isPassing } = await timeOfChange(context, tx, scope, before);
    if (isPassing) throw changeNotNow();
    // What was asked is of another payment or another period.
    if (asked.subscription !== undefined && asked.subscription.version !== before.version) throw changeNotNow();
    const { payments, kept, lapsing, items = before.items } = asked;
    const pending = cancellation.refund === 'prorated' ? await pendingProrations(tx, scope, id) : [];
    const refundable = { payments, items, kept, pending, lapsing };
    const { subscription, refundCents } = decideCancellation(before, cancellation, refundable, at);
    if (subscription.status !== 'canceled') {
      const saved = await saveSubscription(tx, scope, before, subscription);
      wakeWhenDue(tx, saved, at);
      await appendSubscriptionEvent(tx, scope, 'updated', saved, at);
      return saved;
    }
    // As for a session (decisions 14.16): the charge may take money for it.
    await refuseWhileCharging(tx, scope, before);
    const saved = await endSubscription(tx, scope, before, { cancelAtPeriodEnd: subscription.cancelAtPeriodEnd }, at);
    const { refund } = cancellation;
    const amounts = partsOfRefund(before, { refundCents, refund }, refundable, at);
    await requestRefund(tx, scope, saved, { payments, amounts, isProrated: refund === 'prorated' }, at);
    await context.failpoint('cancellation.before_commit');
    return saved;
  });
  await context.failpoint('cancellation.committed');
  return canceled;
}

const nothingRefundable = { payments: [], kept: nothingTakenBack, pending: [], lapsing: [] };

interface RefundOfPayments {
  readonly payments: readonly Payment[];
  /** What comes from each of them. */
  readonly amounts: readonly Cents[];
  readonly isProrated: boolean;
}

/** The refund of a cancellation: a command for each payment that gives back something. The first one has the operation id of the whole. */
async function requestRefund(
  tx: Tx,
  scope: Scope,
  subscription: Subscription,
  { payments, amounts, isProrated }: RefundOfPayments,
  at: Date,
): Promise<void> {
  const parts = payments
    .map((payment, index) => ({ ...payment, amountCents: amounts[index] ?? cents(0) }))
    .filter(({ amountCents }) => amountCents > 0);
  await appendAll(
    tx,
    parts.map(({ subject, invoiceId, amountCents }, index) => ({
      ...scope,
      type: 'command.refund',
      aggregateId: subscription.id,
      at,
      object: {
        case: 'refundRequested',
        value: create(RefundRequestedSchema, {
          operationId: `cancel:${subscription.id}${index === 0 ? '' : `:${index + 1}`}`,
          subject,
          amountCents: BigInt(amountCents),
          reason: 'requested_by_customer',
          subscriptionId: subscription.id,
          invoiceId,
          // What a session sold once has no unused time.
          recurringLinesOnly: isProrated && subject.case === 'sessionId',
        }),
      },
    })),
  );
}
