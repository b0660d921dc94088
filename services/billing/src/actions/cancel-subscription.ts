import { create } from '@bufbuild/protobuf';
import { append } from '@eligo/events';
import { Failure } from '@eligo/failures';
import { type Scope, type Tx, withTx } from '@eligo/postgres';
import { type RefundRequested, RefundRequestedSchema } from '@eligo/proto/events/v1/events';
import { allocate, type Cents, cents, centsFromInt64, sumCents } from '@eligo/values';
import type { Context } from '../context.ts';
import { type Cancellation, decideCancellation } from '../domain/cancellation.ts';
import type { Invoice } from '../domain/invoice.ts';
import type { Subscription } from '../domain/subscription.ts';
import { loadInvoiceCharges } from '../store/invoice-charges.ts';
import { findInvoice } from '../store/invoices.ts';
import { intentsOfInvoices } from '../store/paid-invoices.ts';
import { findSubscription, lockSubscription, saveSubscription } from '../store/subscriptions.ts';
import { timeOnClock } from '../store/test-clocks.ts';
import { askAwaited, isAwaited } from './ask-awaited.ts';
import { appendSubscriptionEvent } from './billing-events.ts';
import { chargeInFlight, refuseWhileCharging } from './change-subscription.ts';
import { endSubscription } from './end-subscription.ts';
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
  const known = await findSubscription(context.database, scope, id);
  if (known !== undefined && !cancellation.atPeriodEnd && (await isAwaited(context, scope, known))) {
    // Refuses what cannot be refunded before the customer is given up.
    decideCancellation(known, undefined, cancellation, context.clock.now());
    await askAwaited(context, scope, known, true);
    // The customer paid before the cancellation. The partner decides again, now that the subscription is active.
    const settled = await findSubscription(context.database, scope, id);
    if (settled?.status === 'active') throw chargeInFlight();
  }
  const takenBack = cancellation.refund === 'none' ? nothingTakenBack : await readTakenBack(context, scope, known);
  return withTx(context.database, scope, async (tx) => {
    const before = await lockSubscription(tx, scope, id);
    if (before === undefined) throw new Failure('subscription_not_found');
    const at = await timeOnClock(tx, scope, context.clock, before.testClockId);
    const invoice = before.latestInvoiceId === null ? undefined : await findInvoice(tx, scope, before.latestInvoiceId);
    const { subscription, refundCents } = decideCancellation(before, invoice, cancellation, at);
    if (subscription.status !== 'canceled') {
      const saved = await saveSubscription(tx, scope, before, subscription);
      wakeWhenDue(tx, saved, at);
      await appendSubscriptionEvent(tx, scope, 'updated', saved, at);
      return saved;
    }
    // As for a session (decisions 14.16): the charge may take money for it.
    await refuseWhileCharging(tx, scope, before);
    const saved = await endSubscription(tx, scope, before, { cancelAtPeriodEnd: subscription.cancelAtPeriodEnd }, at);
    if (refundCents > 0 && invoice !== undefined) {
      await requestRefund(tx, scope, saved, invoice, { amount: refundCents, takenBack }, at);
    }
    return saved;
  });
}

/** What was refunded or disputed of payments, by their intents. */
type TakenBack = ReadonlyMap<string, Cents>;

const nothingTakenBack: TakenBack = new Map();

// A refund of one payment gives back what is left of it. Only where two cards have paid does it matter what is left of each.
async function readTakenBack(
  { database, checkout, callerFor }: Context,
  scope: Scope,
  subscription: Subscription | undefined,
): Promise<TakenBack> {
  const intents = await intentsOfInvoices(database, scope, [subscription?.latestInvoiceId ?? '']);
  if (intents.length < 2) return nothingTakenBack;
  const takenBack = await Promise.all(
    intents.map(async (id): Promise<[string, Cents]> => {
      const intent = await checkout.getPaymentIntent({ id }, { caller: callerFor(scope) });
      return [id, centsFromInt64(intent.amountRefundedCents + intent.amountDisputedCents)];
    }),
  );
  return new Map(takenBack);
}

/** The refund of a cancellation, a command for each card that has paid, in proportion to what is left of its payment. The first card's has the operation id of the whole. */
async function requestRefund(
  tx: Tx,
  scope: Scope,
  subscription: Subscription,
  invoice: Invoice,
  refund: { readonly amount: Cents; readonly takenBack: TakenBack },
  at: Date,
): Promise<void> {
  for (const { subject, amountCents, suffix } of await partsOf(tx, scope, invoice, refund)) {
    await append(tx, {
      ...scope,
      type: 'command.refund',
      aggregateId: subscription.id,
      at,
      object: {
        case: 'refundRequested',
        value: create(RefundRequestedSchema, {
          operationId: `cancel:${subscription.id}${suffix}`,
          subject,
          amountCents: BigInt(amountCents),
          reason: 'requested_by_customer',
          subscriptionId: subscription.id,
          invoiceId: invoice.id,
        }),
      },
    });
  }
}

interface RefundPart {
  readonly subject: RefundRequested['subject'];
  readonly amountCents: Cents;
  readonly suffix: string;
}

// A first invoice was paid with its session, perhaps by two cards; a later one by a charge for each card.
async function partsOf(
  tx: Tx,
  scope: Scope,
  invoice: Invoice,
  { amount, takenBack }: { readonly amount: Cents; readonly takenBack: TakenBack },
): Promise<RefundPart[]> {
  if (invoice.checkoutSessionId !== null) {
    return [{ subject: { case: 'sessionId', value: invoice.checkoutSessionId }, amountCents: amount, suffix: '' }];
  }
  const paid = (await loadInvoiceCharges(tx, scope, invoice.id)).filter(({ status }) => status === 'succeeded');
  const left = paid.map(({ amountCents, paymentIntentId }) =>
    cents(Math.max(amountCents - (takenBack.get(paymentIntentId ?? '') ?? 0), 0)),
  );
  const amounts = allocate(cents(Math.min(amount, sumCents(left))), left);
  return paid.flatMap(({ paymentIntentId }, index) => {
    const amountCents = amounts[index] ?? cents(0);
    if (paymentIntentId === null) throw new Error(`Invoice ${invoice.id} has a payment without an intent`);
    const subject = { case: 'paymentIntentId' as const, value: paymentIntentId };
    return amountCents === 0 ? [] : [{ subject, amountCents, suffix: index === 0 ? '' : `:${index + 1}` }];
  });
}
