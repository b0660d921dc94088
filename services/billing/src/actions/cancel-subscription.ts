import { create } from '@bufbuild/protobuf';
import { append } from '@eligo/events';
import { Failure } from '@eligo/failures';
import { type Scope, type Tx, withTx } from '@eligo/postgres';
import { type RefundRequested, RefundRequestedSchema } from '@eligo/proto/events/v1/events';
import { allocate, type Cents, cents, sumCents } from '@eligo/values';
import type { Context } from '../context.ts';
import { type Cancellation, decideCancellation, type LeftOfInvoice, newestFirst } from '../domain/cancellation.ts';
import { type KeptShare, nothingTakenBack } from '../domain/kept-share.ts';
import type { Subscription } from '../domain/subscription.ts';
import { findInvoice } from '../store/invoices.ts';
import { intentsOfInvoices, invoicesOfPeriod, type PaymentOfInvoice } from '../store/paid-invoices.ts';
import { pendingProrations } from '../store/prorations.ts';
import { findSubscription, lockSubscription, saveSubscription } from '../store/subscriptions.ts';
import { timeOnClock } from '../store/test-clocks.ts';
import { askAwaited, isAwaited } from './ask-awaited.ts';
import { appendSubscriptionEvent } from './billing-events.ts';
import { chargeInFlight, refuseWhileAdvancing, refuseWhileCharging } from './change-subscription.ts';
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
    decideCancellation(known, cancellation, nothingRefundable, context.clock.now());
    await askAwaited(context, scope, known, true);
    // The customer paid before the cancellation. The partner decides again, now that the subscription is active.
    known = await findSubscription(context.database, scope, id);
    if (known?.status === 'active') throw chargeInFlight();
  }
  const asked = await readRefunded(context, scope, known, cancellation);
  return withTx(context.database, scope, async (tx) => {
    const before = await lockSubscription(tx, scope, id);
    if (before === undefined) throw new Failure('subscription_not_found');
    await refuseWhileAdvancing(tx, scope, before);
    const at = await timeOnClock(tx, scope, context.clock, before.testClockId);
    // What was asked is of another payment or another period.
    if (asked.subscription !== undefined && asked.subscription.version !== before.version) throw chargeInFlight();
    const { payments, takenBack, kept } = asked;
    const pending = cancellation.refund === 'prorated' ? await pendingProrations(tx, scope, id) : [];
    const { subscription, refundCents } = decideCancellation(before, cancellation, { payments, kept, pending }, at);
    if (subscription.status !== 'canceled') {
      const saved = await saveSubscription(tx, scope, before, subscription);
      wakeWhenDue(tx, saved, at);
      await appendSubscriptionEvent(tx, scope, 'updated', saved, at);
      return saved;
    }
    // As for a session (decisions 14.16): the charge may take money for it.
    await refuseWhileCharging(tx, scope, before);
    const saved = await endSubscription(tx, scope, before, { cancelAtPeriodEnd: subscription.cancelAtPeriodEnd }, at);
    if (refundCents > 0) await requestRefund(tx, scope, saved, { amount: refundCents, payments, takenBack }, at);
    return saved;
  });
}

const nothingRefundable = { payments: [], kept: nothingTakenBack, pending: [] };

/** A paid invoice of the present period, and what is left of its payment. */
interface Payment extends LeftOfInvoice {
  readonly id: string;
  /** The session that it was paid with. */
  readonly checkoutSessionId: string | null;
}

interface Refunded {
  /** Newest first. */
  readonly payments: readonly Payment[];
  readonly takenBack: TakenBack;
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
  const takenBack: TakenBack = new Map();
  const nothing = { payments: [], takenBack, kept: nothingTakenBack, subscription: undefined };
  if (atPeriodEnd || refund === 'none' || subscription === undefined) return nothing;
  const paid = await paidOfPeriod(context, scope, subscription, refund === 'full');
  const own = paid.filter(({ checkoutSessionId }) => checkoutSessionId === null).map(({ id }) => id);
  const intents = await intentsOfInvoices(context.database, scope, own);
  // All of one payment gives back what remains of it. Where there are more, it matters what is left of each.
  const isOne = intents.length + (paid.length - own.length) < 2;
  const [known, kept] = await Promise.all([
    refund === 'full' && isOne ? takenBack : readTakenBack(context, scope, paid),
    refund === 'prorated' ? readKeptShare(context, scope, subscription, tooManyInvoices) : nothingTakenBack,
  ]);
  const payments = paid.map((one) => ({ ...one, leftCents: leftOf(one, intents, known) }));
  return { payments, takenBack: known, kept, subscription };
}

// What the latest invoice was paid with, and those before it in the period. Nothing, while the latest one is not paid: items can be invoiced at what nobody has paid.
async function paidOfPeriod(
  { database }: Context,
  scope: Scope,
  subscription: Subscription,
  isWhole: boolean,
): Promise<(Omit<Payment, 'leftCents'> & { readonly amountPaidCents: Cents })[]> {
  const latest = await findInvoice(database, scope, subscription.latestInvoiceId ?? '');
  if (latest?.status !== 'paid') return [];
  const period = await invoicesOfPeriod(database, scope, subscription);
  if (period.mayBeMore && isWhole) throw Failure.invalid(tooManyInvoices.loc, 'value_error', tooManyInvoices.text);
  const others = period.paid.filter(({ id, isPaid }) => isPaid && id !== latest.id);
  return [latest, ...others].filter(({ amountPaidCents }) => amountPaidCents > 0);
}

function leftOf(
  { id, checkoutSessionId, amountPaidCents }: { readonly amountPaidCents: Cents } & Omit<Payment, 'leftCents'>,
  intents: readonly PaymentOfInvoice[],
  takenBack: TakenBack,
): Cents {
  if (checkoutSessionId !== null) return leftAfter(amountPaidCents, checkoutSessionId, takenBack);
  const own = intents.filter(({ invoiceId }) => invoiceId === id);
  return sumCents(own.map(({ amountCents, intentId }) => leftAfter(amountCents, intentId, takenBack)));
}

function leftAfter(paidCents: Cents, subject: string, takenBack: TakenBack): Cents {
  return cents(Math.max(paidCents - (takenBack.get(subject) ?? 0), 0));
}

const tooManyInvoices = {
  loc: ['body', 'subscription', 'refund'],
  text: 'This period has too many invoices for this refund. Send custom with an amount',
};

/**
 * The refund of a cancellation, newest payment first: a command for each card that has paid an invoice, in proportion to what is left of its payment. The first command has the
 * operation id of the whole.
 */
async function requestRefund(
  tx: Tx,
  scope: Scope,
  subscription: Subscription,
  refund: { readonly amount: Cents; readonly payments: readonly Payment[]; readonly takenBack: TakenBack },
  at: Date,
): Promise<void> {
  const { payments, takenBack } = refund;
  const amounts = newestFirst(refund.amount, payments);
  let commands = 0;
  for (const [index, invoice] of payments.entries()) {
    const amount = amounts[index] ?? cents(0);
    if (amount === 0) continue;
    for (const { subject, amountCents } of await partsOf(tx, scope, invoice, { amount, takenBack })) {
      commands += 1;
      await append(tx, {
        ...scope,
        type: 'command.refund',
        aggregateId: subscription.id,
        at,
        object: {
          case: 'refundRequested',
          value: create(RefundRequestedSchema, {
            operationId: `cancel:${subscription.id}${commands === 1 ? '' : `:${commands}`}`,
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
}

interface RefundPart {
  readonly subject: RefundRequested['subject'];
  readonly amountCents: Cents;
}

// A first invoice was paid with its session, perhaps by two cards; a later one by a charge for each card.
async function partsOf(
  tx: Tx,
  scope: Scope,
  invoice: Payment,
  { amount, takenBack }: { readonly amount: Cents; readonly takenBack: TakenBack },
): Promise<RefundPart[]> {
  if (invoice.checkoutSessionId !== null) {
    return [{ subject: { case: 'sessionId', value: invoice.checkoutSessionId }, amountCents: amount }];
  }
  const paid = await intentsOfInvoices(tx, scope, [invoice.id]);
  const left = paid.map(({ amountCents, intentId }) => leftAfter(amountCents, intentId, takenBack));
  const amounts = allocate(cents(Math.min(amount, sumCents(left))), left);
  return paid.flatMap(({ intentId }, index) => {
    const amountCents = amounts[index] ?? cents(0);
    return amountCents === 0 ? [] : [{ subject: { case: 'paymentIntentId' as const, value: intentId }, amountCents }];
  });
}
