import { create } from '@bufbuild/protobuf';
import { append } from '@eligo/events';
import { Failure } from '@eligo/failures';
import { type Scope, type Tx, withTx } from '@eligo/postgres';
import { type RefundRequested, RefundRequestedSchema } from '@eligo/proto/events/v1/events';
import { allocate, type Cents, cents, sumCents } from '@eligo/values';
import type { Context } from '../context.ts';
import { type Cancellation, decideCancellation } from '../domain/cancellation.ts';
import type { Invoice } from '../domain/invoice.ts';
import { type KeptShare, nothingTakenBack } from '../domain/kept-share.ts';
import type { Subscription } from '../domain/subscription.ts';
import { loadInvoiceCharges } from '../store/invoice-charges.ts';
import { findInvoice } from '../store/invoices.ts';
import { intentsOfInvoices } from '../store/paid-invoices.ts';
import { pendingProrations } from '../store/prorations.ts';
import { findSubscription, lockSubscription, saveSubscription } from '../store/subscriptions.ts';
import { timeOnClock } from '../store/test-clocks.ts';
import { askAwaited, isAwaited } from './ask-awaited.ts';
import { appendSubscriptionEvent } from './billing-events.ts';
import { chargeInFlight, refuseWhileCharging } from './change-subscription.ts';
import { endSubscription } from './end-subscription.ts';
import { readKeptShare } from './read-kept-share.ts';
import { readTakenBack, type TakenBack } from './read-taken-back.ts';
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
    decideCancellation(known, undefined, cancellation, nothingRefundable, context.clock.now());
    await askAwaited(context, scope, known, true);
    // The customer paid before the cancellation. The partner decides again, now that the subscription is active.
    known = await findSubscription(context.database, scope, id);
    if (known?.status === 'active') throw chargeInFlight();
  }
  const asked = await readRefunded(context, scope, known, cancellation);
  return withTx(context.database, scope, async (tx) => {
    const before = await lockSubscription(tx, scope, id);
    if (before === undefined) throw new Failure('subscription_not_found');
    const at = await timeOnClock(tx, scope, context.clock, before.testClockId);
    const invoice = before.latestInvoiceId === null ? undefined : await findInvoice(tx, scope, before.latestInvoiceId);
    // What was asked is of another payment or another period.
    if (asked.subscription !== undefined && asked.subscription.version !== before.version) throw chargeInFlight();
    const { takenBack, kept } = asked;
    const pending = cancellation.refund === 'prorated' ? await pendingProrations(tx, scope, id) : [];
    const refundable = { takenBackCents: sumCents([...takenBack.values()]), kept, pending };
    const { subscription, refundCents } = decideCancellation(before, invoice, cancellation, refundable, at);
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

const nothingRefundable = { takenBackCents: cents(0), kept: nothingTakenBack, pending: [] };

interface Refunded {
  readonly takenBack: TakenBack;
  readonly kept: KeptShare;
  /** The subscription of which this was asked; undefined if nothing was. */
  readonly subscription: Subscription | undefined;
}

/** What checkout says was taken back, as far as the refund of this cancellation depends on it. */
async function readRefunded(
  context: Context,
  scope: Scope,
  subscription: Subscription | undefined,
  { atPeriodEnd, refund }: Cancellation,
): Promise<Refunded> {
  const nothing = { takenBack: new Map<string, Cents>(), kept: nothingTakenBack, subscription: undefined };
  if (atPeriodEnd || refund === 'none') return nothing;
  const latestId = subscription?.latestInvoiceId ?? undefined;
  const invoice = latestId === undefined ? undefined : await findInvoice(context.database, scope, latestId);
  if (subscription === undefined || invoice === undefined) return nothing;
  // All of one payment gives back what remains of it. Where two cards have paid, it matters what is left of each.
  if (refund === 'full') {
    const intents = await intentsOfInvoices(context.database, scope, [invoice.id]);
    if (intents.length < 2) return nothing;
  }
  const [takenBack, kept] = await Promise.all([
    readTakenBack(context, scope, [invoice]),
    refund === 'prorated' ? readKeptShare(context, scope, subscription, tooManyInvoices) : nothingTakenBack,
  ]);
  return { takenBack, kept, subscription };
}

const tooManyInvoices = {
  loc: ['body', 'subscription', 'refund'],
  text: 'This period has too many invoices for a prorated refund. Send custom with an amount',
};

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
