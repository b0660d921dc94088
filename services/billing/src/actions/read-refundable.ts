import { Failure } from '@eligo/failures';
import type { Scope } from '@eligo/postgres';
import type { RefundRequested } from '@eligo/proto/events/v1/events';
import { type Cents, cents } from '@eligo/values';
import type { Context } from '../context.ts';
import type { Cancellation, LeftOfPayment } from '../domain/cancellation.ts';
import { itemsLess } from '../domain/finalized-invoice.ts';
import type { Invoice } from '../domain/invoice.ts';
import { type KeptShare, nothingTakenBack } from '../domain/kept-share.ts';
import { timesOfCharge } from '../domain/paid-time.ts';
import { type LapsingCredit, paidShareOf } from '../domain/proration.ts';
import type { Subscription } from '../domain/subscription.ts';
import { loadInvoiceLines } from '../store/invoice-lines.ts';
import { loadProratedParts } from '../store/invoice-statements.ts';
import { findInvoice } from '../store/invoices.ts';
import {
  type InvoicesOfPeriod,
  intentsOfInvoices,
  invoicesOfPeriod,
  type PaidInvoice,
  type PaymentOfInvoice,
} from '../store/paid-invoices.ts';
import { loadInvoiceCredits } from '../store/prorations.ts';
import { keptOfPeriod, readOtherShares } from './read-kept-share.ts';
import { readTakenBack, type TakenBack } from './read-taken-back.ts';

/** A payment of a paid invoice of the present period. */
export interface Payment extends LeftOfPayment {
  readonly invoiceId: string;
  readonly subject: RefundRequested['subject'];
}

/** What a refund can come from, as it was read before the subscription is locked. */
interface ReadRefundable {
  /** Newest first. */
  readonly payments: readonly Payment[];
  readonly items: Subscription['items'] | undefined;
  readonly kept: KeptShare;
  /** The credits of an open invoice, which lapse with it. */
  readonly lapsing: readonly LapsingCredit[];
  /** The subscription of which this was asked; undefined if nothing was. */
  readonly subscription: Subscription | undefined;
}

/** What can be refunded of the present period, and what checkout says was taken back, as far as the refund of this cancellation depends on it. */
export async function readRefundable(
  context: Context,
  scope: Scope,
  subscription: Subscription | undefined,
  { atPeriodEnd, refund }: Cancellation,
): Promise<ReadRefundable> {
  const nothing = { payments: [], items: undefined, kept: nothingTakenBack, lapsing: [], subscription: undefined };
  if (atPeriodEnd || refund === 'none' || subscription === undefined) return nothing;
  const { database } = context;
  const period = await invoicesOfPeriod(database, scope, subscription);
  // A custom amount says itself how much it is.
  if (period.mayBeMore && refund !== 'custom') {
    throw Failure.invalid(
      ['body', 'subscription', 'refund'],
      'value_error',
      'This period has too many invoices for this refund. Send custom with an amount',
    );
  }
  const latest = await findInvoice(database, scope, subscription.latestInvoiceId ?? '');
  const paid = paidOf(period, latest);
  const charged = paid.filter(({ checkoutSessionId }) => checkoutSessionId === null);
  const intents = await intentsOfInvoices(
    database,
    scope,
    charged.map(({ id }) => id),
  );
  const parts = partsOf(paid, intents);
  // All of one payment gives back what remains of it. Where there are more, it matters what is left of each.
  const isOne = parts.length < 2;
  const isProrated = refund === 'prorated';
  const [takenBack, others, { items, lapsing }] = await Promise.all([
    refund === 'full' && isOne ? (new Map() as TakenBack) : readTakenBack(context, scope, idsOf(parts)),
    isProrated ? readOtherShares(context, scope, period) : undefined,
    isProrated ? withoutOwed(context, scope, subscription, latest) : { items: subscription.items, lapsing: [] },
  ]);
  const leftOf = ({ amountCents, subject }: PaidPart) =>
    cents(Math.max(amountCents - (takenBack.get(subject.value ?? '') ?? 0), 0));
  if (others === undefined) {
    const payments = parts.map((part) => ({
      ...{ ...part, paidCents: part.amountCents, leftCents: leftOf(part) },
      ...{ times: [], lines: 'all' as const },
    }));
    return { payments, items, kept: nothingTakenBack, lapsing, subscription };
  }
  const kept = keptOfPeriod(period, { intents, takenBack }, others);
  const payments = parts.map((part): Payment => {
    const { periodStart: start, periodEnd: end, invoiceId, leg } = part;
    if (leg === null) {
      // Neither fees nor what it sold once.
      const leftCents = cents(Math.min(leftOf(part), kept.ofSessionsCents));
      const paidCents = kept.paidWithSessionsCents;
      return { ...part, paidCents, leftCents, times: [{ cents: kept.ofSessionsCents, start, end }], lines: 'all' };
    }
    const leftCents = leftOf(part);
    const isBesideHealth = intents.some((one) => one.invoiceId === invoiceId && one.leg === 'health');
    const carried = others.carried.filter((one) => one.invoiceId === invoiceId);
    const times = timesOfCharge({ ...part, leg, leftCents, isBesideHealth }, carried);
    return { ...part, paidCents: part.amountCents, leftCents, times, lines: linesOf(part, isBesideHealth) };
  });
  return { payments, items, kept, lapsing, subscription };
}

// The invoices of the period that were paid, newest first. The latest one may be void or open: what was paid before it was paid all the same.
function paidOf(period: InvoicesOfPeriod, latest: Invoice | undefined): PaidInvoice[] {
  const paid = period.paid.filter(({ id, isPaid }) => isPaid && id !== latest?.id);
  const all = latest?.status === 'paid' ? [{ ...latest, isPaid: true }, ...paid] : paid;
  return all.filter(({ amountPaidCents }) => amountPaidCents > 0);
}

// A card that is no health card may pay an invoice alone, which may have lines of one kind alone.
function linesOf(
  { leg, amountCents, eligibleCents }: Pick<PaidPart, 'leg' | 'amountCents' | 'eligibleCents'>,
  isBesideHealth: boolean,
): LeftOfPayment['lines'] {
  if (leg === 'health') return 'eligible';
  if (isBesideHealth || eligibleCents === 0) return 'other';
  return eligibleCents === amountCents ? 'eligible' : 'all';
}

interface PaidPart extends Omit<Payment, 'paidCents' | 'leftCents' | 'times' | 'lines'> {
  readonly amountCents: Cents;
  /** What of its invoice a health card may pay. */
  readonly eligibleCents: Cents;
  /** Null for what was paid with a session. */
  readonly leg: PaymentOfInvoice['leg'] | null;
}

// A first invoice was paid with its session, perhaps by two cards; a later one by a charge for each card.
function partsOf(paid: readonly PaidInvoice[], intents: readonly PaymentOfInvoice[]): PaidPart[] {
  return paid.flatMap(({ id: invoiceId, checkoutSessionId: value, amountPaidCents, ...invoice }) => {
    const { eligibleCents, periodStart, periodEnd } = invoice;
    const of = { invoiceId, eligibleCents, periodStart, periodEnd };
    if (value !== null) {
      return [{ ...of, subject: { case: 'sessionId', value }, leg: null, amountCents: amountPaidCents }];
    }
    return intents
      .filter((one) => one.invoiceId === invoiceId)
      .map(({ intentId, leg, amountCents }): PaidPart => {
        return { ...of, subject: { case: 'paymentIntentId', value: intentId }, leg, amountCents };
      });
  });
}

function idsOf(parts: readonly PaidPart[]) {
  const of = (kind: Payment['subject']['case']) =>
    parts.flatMap(({ subject }) => (subject.case === kind ? (subject.value ?? []) : []));
  return { sessionIds: of('sessionId'), intentIds: of('paymentIntentId') };
}

// The customer no longer owes what an open invoice added to the items, once the subscription is canceled, and its credits of the period pay nothing.
async function withoutOwed(
  { database }: Context,
  scope: Scope,
  { items, currentPeriodStart: start, currentPeriodEnd: end }: Subscription,
  latest: Invoice | undefined,
): Promise<Pick<ReadRefundable, 'lapsing'> & Pick<Subscription, 'items'>> {
  if (latest?.status !== 'open') return { items, lapsing: [] };
  const [lines, credits] = await Promise.all([
    loadInvoiceLines(database, scope, latest.id),
    loadInvoiceCredits(database, scope, latest.id),
  ]);
  const ids = [...lines, ...credits].flatMap(({ prorationId }) => prorationId ?? []);
  const parts = await loadProratedParts(database, scope, ids);
  const lapsing = credits.flatMap(({ prorationId, amountCents, eligible }) => {
    const part = parts.get(prorationId);
    const isOfPeriod = part !== undefined && part.periodStart >= start && part.periodEnd.getTime() === end.getTime();
    return isOfPeriod ? [{ eligible, wholeCents: paidShareOf(part, amountCents) }] : [];
  });
  return { items: itemsLess(items, lines, parts), lapsing };
}
