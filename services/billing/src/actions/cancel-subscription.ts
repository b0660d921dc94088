import { create } from '@bufbuild/protobuf';
import { append } from '@eligo/events';
import { Failure } from '@eligo/failures';
import { type Scope, type Tx, withTx } from '@eligo/postgres';
import { type RefundRequested, RefundRequestedSchema } from '@eligo/proto/events/v1/events';
import { type Cents, cents } from '@eligo/values';
import type { Context } from '../context.ts';
import { type Cancellation, decideCancellation, type LeftOfPayment, partsOfRefund } from '../domain/cancellation.ts';
import { itemsLess } from '../domain/finalized-invoice.ts';
import { type KeptShare, nothingTakenBack } from '../domain/kept-share.ts';
import type { Subscription } from '../domain/subscription.ts';
import { loadInvoiceLines } from '../store/invoice-lines.ts';
import { loadProratedParts } from '../store/invoice-statements.ts';
import { findInvoice } from '../store/invoices.ts';
import { intentsOfInvoices, invoicesOfPeriod, type PaidInvoice } from '../store/paid-invoices.ts';
import { pendingProrations } from '../store/prorations.ts';
import { findSubscription, lockSubscription, saveSubscription } from '../store/subscriptions.ts';
import { askAwaited, isAwaited } from './ask-awaited.ts';
import { appendSubscriptionEvent } from './billing-events.ts';
import { changeNotNow, refuseWhileCharging, timeOfChange } from './change-subscription.ts';
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
    decideCancellation(known, cancellation, { ...nothingRefundable, items: known.items }, context.clock.now());
    await askAwaited(context, scope, known, true);
    // The customer paid before the cancellation. The partner decides again, now that the subscription is active.
    known = await findSubscription(context.database, scope, id);
    if (known?.status === 'active') throw changeNotNow();
  }
  const asked = await readRefunded(context, scope, known, cancellation);
  return withTx(context.database, scope, async (tx) => {
    const before = await lockSubscription(tx, scope, id);
    if (before === undefined) throw new Failure('subscription_not_found');
    const { at, isPassing } = await timeOfChange(context, tx, scope, before);
    if (isPassing) throw changeNotNow();
    // What was asked is of another payment or another period.
    if (asked.subscription !== undefined && asked.subscription.version !== before.version) throw changeNotNow();
    const { payments, kept, items = before.items } = asked;
    const pending = cancellation.refund === 'prorated' ? await pendingProrations(tx, scope, id) : [];
    const refundable = { payments, items, kept, pending };
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
    const amounts = partsOfRefund(refundCents, cancellation.refund, payments, at);
    await requestRefund(tx, scope, saved, { payments, amounts }, at);
    return saved;
  });
}

const nothingRefundable = { payments: [], kept: nothingTakenBack, pending: [] };

/** A payment of a paid invoice of the present period. */
interface Payment extends LeftOfPayment {
  readonly invoiceId: string;
  readonly subject: RefundRequested['subject'];
}

interface Refunded {
  /** Newest first. */
  readonly payments: readonly Payment[];
  readonly items: Subscription['items'] | undefined;
  readonly kept: KeptShare;
  /** The subscription of which this was asked; undefined if nothing was. */
  readonly subscription: Subscription | undefined;
}

/** What can be refunded of the present period, and what checkout says was taken back, as far as the refund of this cancellation depends on it. */
async function readRefunded(
  context: Context,
  scope: Scope,
  subscription: Subscription | undefined,
  { atPeriodEnd, refund }: Cancellation,
): Promise<Refunded> {
  const nothing = { payments: [], items: undefined, kept: nothingTakenBack, subscription: undefined };
  if (atPeriodEnd || refund === 'none' || subscription === undefined) return nothing;
  const paid = await paidOfPeriod(context, scope, subscription, refund === 'full');
  const parts = await partsOf(context, scope, paid);
  // All of one payment gives back what remains of it. Where there are more, it matters what is left of each.
  const isOne = parts.length < 2;
  const isProrated = refund === 'prorated';
  const [takenBack, kept, items] = await Promise.all([
    refund === 'full' && isOne ? (new Map() as TakenBack) : readTakenBack(context, scope, paid),
    isProrated ? readKeptShare(context, scope, subscription, tooManyInvoices) : nothingTakenBack,
    isProrated ? itemsWithoutOwed(context, scope, subscription) : subscription.items,
  ]);
  const payments = parts.map(({ amountCents, ...one }) => {
    const { case: kind, value } = one.subject;
    const leftCents = cents(Math.max(amountCents - (takenBack.get(value ?? '') ?? 0), 0));
    const ofPeriodCents = 'sessionsCents' in kept && kind === 'sessionId' ? kept.sessionsCents : leftCents;
    return { ...one, leftCents, ofPeriodCents };
  });
  return { payments, items, kept, subscription };
}

// The invoices of the period that were paid, newest first. The latest one may be void or open: what was paid before it was paid all the same.
async function paidOfPeriod(
  { database }: Context,
  scope: Scope,
  subscription: Subscription,
  isWhole: boolean,
): Promise<PaidInvoice[]> {
  const period = await invoicesOfPeriod(database, scope, subscription);
  if (period.mayBeMore && isWhole) throw Failure.invalid(tooManyInvoices.loc, 'value_error', tooManyInvoices.text);
  const latest = await findInvoice(database, scope, subscription.latestInvoiceId ?? '');
  const paid = period.paid.filter(({ id, isPaid }) => isPaid && id !== latest?.id);
  const all = latest?.status === 'paid' ? [{ ...latest, isPaid: true }, ...paid] : paid;
  return all.filter(({ amountPaidCents }) => amountPaidCents > 0);
}

type PaidPart = Omit<Payment, 'leftCents' | 'ofPeriodCents'> & { readonly amountCents: Cents };

// A first invoice was paid with its session, perhaps by two cards; a later one by a charge for each card.
async function partsOf({ database }: Context, scope: Scope, paid: readonly PaidInvoice[]): Promise<PaidPart[]> {
  const own = paid.filter(({ checkoutSessionId }) => checkoutSessionId === null).map(({ id }) => id);
  const intents = await intentsOfInvoices(database, scope, own);
  return paid.flatMap(({ id: invoiceId, checkoutSessionId: value, amountPaidCents, periodStart, periodEnd }) => {
    const of = { invoiceId, periodStart, periodEnd };
    if (value !== null) return [{ ...of, subject: { case: 'sessionId', value }, amountCents: amountPaidCents }];
    return intents
      .filter((one) => one.invoiceId === invoiceId)
      .map(({ intentId, amountCents }): PaidPart => {
        return { ...of, subject: { case: 'paymentIntentId', value: intentId }, amountCents };
      });
  });
}

// The customer no longer owes what an open invoice added to the items, once the subscription is canceled.
async function itemsWithoutOwed(
  { database }: Context,
  scope: Scope,
  { items, latestInvoiceId }: Subscription,
): Promise<Subscription['items']> {
  const latest = await findInvoice(database, scope, latestInvoiceId ?? '');
  if (latest?.status !== 'open') return items;
  const lines = await loadInvoiceLines(database, scope, latest.id);
  const ids = lines.flatMap(({ prorationId }) => prorationId ?? []);
  return itemsLess(items, lines, await loadProratedParts(database, scope, ids));
}

const tooManyInvoices = {
  loc: ['body', 'subscription', 'refund'],
  text: 'This period has too many invoices for this refund. Send custom with an amount',
};

/** The refund of a cancellation: a command for each payment that gives back something. The first one has the operation id of the whole. */
async function requestRefund(
  tx: Tx,
  scope: Scope,
  subscription: Subscription,
  { payments, amounts }: { readonly payments: readonly Payment[]; readonly amounts: readonly Cents[] },
  at: Date,
): Promise<void> {
  const parts = payments
    .map((payment, index) => ({ ...payment, amountCents: amounts[index] ?? cents(0) }))
    .filter(({ amountCents }) => amountCents > 0);
  for (const [index, { subject, invoiceId, amountCents }] of parts.entries()) {
    await append(tx, {
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
        }),
      },
    });
  }
}
