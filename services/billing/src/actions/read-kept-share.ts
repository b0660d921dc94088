import { Failure } from '@eligo/failures';
import type { Scope } from '@eligo/postgres';
import { type Cents, cents, centsFromInt64, sumCents } from '@eligo/values';
import type { Context } from '../context.ts';
import { type KeptShare, sharesOfRecurring } from '../domain/kept-share.ts';
import { type CarriedProrations, earlierCredits } from '../domain/paid-time.ts';
import type { Subscription } from '../domain/subscription.ts';
import {
  carriedProrations,
  type InvoicesOfPeriod,
  intentsOfInvoices,
  invoicesOfPeriod,
  type PaidInvoice,
  type PaymentOfInvoice,
} from '../store/paid-invoices.ts';
import { readTakenBack, type TakenBack } from './read-taken-back.ts';

/** What was kept of a period. */
interface KeptOfPeriod extends KeptShare {
  /** What of that was paid with its session. */
  readonly ofSessionsCents: Cents;
  /** What was paid with its session. */
  readonly paidWithSessionsCents: Cents;
}

/** What paid for a period beside the charges of its own invoices: credits, which these carry with charges for changes, and the session that sold it. */
interface OtherShares {
  readonly carried: readonly CarriedProrations[];
  readonly ofSessions: readonly KeptShare[];
}

/** The payments of the invoices of a period, and what was taken back of them. */
interface ReadPayments {
  readonly intents: readonly PaymentOfInvoice[];
  readonly takenBack: TakenBack;
}

/**
 * What was paid for the present period of a subscription, also with credits of earlier ones, and what checkout says was refunded or disputed of it. What a session sold
 * once counts in neither, nor does what one card paid of an invoice that is void: that is refunded by itself. A dispute counts while it is open or lost. Throws a 422 for a period of so many invoices
 * that not all are looked at: `tooMany` is the field that asks for it, and what the caller can do.
 */
export async function readKeptShare(
  context: Context,
  scope: Scope,
  subscription: Subscription,
  tooMany: { readonly loc: readonly string[]; readonly text: string },
): Promise<KeptShare> {
  const period = await invoicesOfPeriod(context.database, scope, subscription);
  if (period.mayBeMore) throw Failure.invalid(tooMany.loc, 'value_error', tooMany.text);
  const [payments, others] = await Promise.all([
    readPayments(context, scope, period),
    readOtherShares(context, scope, period),
  ]);
  return keptOfPeriod(period, payments, others);
}

async function readPayments(context: Context, scope: Scope, period: InvoicesOfPeriod): Promise<ReadPayments> {
  const ids = chargedOf(period).map(({ id }) => id);
  const intents = await intentsOfInvoices(context.database, scope, ids);
  const intentIds = intents.map(({ intentId }) => intentId);
  return { intents, takenBack: await readTakenBack(context, scope, { sessionIds: [], intentIds }) };
}

/** What else paid for a period. The caller has read its invoices. */
export async function readOtherShares(context: Context, scope: Scope, period: InvoicesOfPeriod): Promise<OtherShares> {
  const ids = chargedOf(period).map(({ id }) => id);
  const sessionIds = period.paid.flatMap(({ checkoutSessionId }) => checkoutSessionId ?? []);
  const [carried, ...ofSessions] = await Promise.all([
    carriedProrations(context.database, scope, ids, period),
    // A subscription is sold by one session.
    ...sessionIds.map((sessionId) => shareOfSession(context, scope, sessionId)),
  ]);
  return { carried, ofSessions };
}

/** What was kept of a period, as `readKeptShare` says. `intents` may be of other invoices as well. */
export function keptOfPeriod(
  period: InvoicesOfPeriod,
  { intents, takenBack }: ReadPayments,
  { carried, ofSessions }: OtherShares,
): KeptOfPeriod {
  const charged = chargedOf(period);
  const ids = new Set(charged.map(({ id }) => id));
  const ofPeriod = new Set(intents.flatMap(({ invoiceId, intentId }) => (ids.has(invoiceId) ? intentId : [])));
  const ofInvoices: KeptShare = {
    paidCents: cents(sumCents(charged.map(({ amountPaidCents }) => amountPaidCents)) + earlierCredits(carried)),
    takenBackCents: sumCents([...ofPeriod].map((intentId) => takenBack.get(intentId) ?? cents(0))),
  };
  const shares = [ofInvoices, ...ofSessions];
  return {
    paidCents: sumCents(shares.map(({ paidCents }) => paidCents)),
    takenBackCents: sumCents(shares.map(({ takenBackCents }) => takenBackCents)),
    ofSessionsCents: sumCents(ofSessions.map((one) => cents(one.paidCents - one.takenBackCents))),
    paidWithSessionsCents: sumCents(ofSessions.map(({ paidCents }) => paidCents)),
  };
}

function chargedOf({ paid }: InvoicesOfPeriod): PaidInvoice[] {
  return paid.filter(({ checkoutSessionId, isPaid }) => checkoutSessionId === null && isPaid);
}

async function shareOfSession({ checkout, callerFor }: Context, scope: Scope, sessionId: string): Promise<KeptShare> {
  const caller = callerFor(scope);
  // The lines last: a refund between the two reads then lowers the share.
  const session = await checkout.getSession({ id: sessionId }, { caller });
  const { lineItems } = await checkout.listLineItems({ sessionId, page: { limit: mostLines } }, { caller });
  const { amountReceivedCents, amountRefundedCents, amountDisputedCents } = session;
  return sharesOfRecurring(
    lineItems.map((line) => ({
      recurs: line.recurring !== undefined,
      totalCents: centsFromInt64(line.amountTotalCents),
      feeCents: centsFromInt64(line.amountFeeCents),
      letterFeeCents: centsFromInt64(line.letterFeeCents),
      letterFeeToRefundCents: centsFromInt64(line.letterFeeToRefundCents),
      capturedCents: line.amountCapturedCents === undefined ? undefined : centsFromInt64(line.amountCapturedCents),
      refundedCents: centsFromInt64(line.amountRefundedCents),
      disputedCents: line.amountDisputedCents === undefined ? undefined : centsFromInt64(line.amountDisputedCents),
    })),
    {
      receivedCents: centsFromInt64(amountReceivedCents),
      leftCents: cents(Math.max(0, centsFromInt64(amountReceivedCents) - centsFromInt64(amountRefundedCents))),
      disputedCents: centsFromInt64(amountDisputedCents),
    },
  );
}

// A session has at most as many (decisions 10).
const mostLines = 100n;
