import { Failure } from '@eligo/failures';
import type { Scope } from '@eligo/postgres';
import { type Cents, cents, centsFromInt64, sumCents } from '@eligo/values';
import type { Context } from '../context.ts';
import { type KeptShare, sharesOfRecurring } from '../domain/kept-share.ts';
import type { Subscription } from '../domain/subscription.ts';
import { earlierCreditsOf, invoicesOfPeriod } from '../store/paid-invoices.ts';
import { readTakenBack } from './read-taken-back.ts';

/** What was kept of a period, and what of that its session sold. */
interface KeptOfPeriod extends KeptShare {
  readonly sessionsCents: Cents;
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
): Promise<KeptOfPeriod> {
  const { database } = context;
  const period = await invoicesOfPeriod(database, scope, subscription);
  if (period.mayBeMore) throw Failure.invalid(tooMany.loc, 'value_error', tooMany.text);
  const own = period.paid.filter(({ checkoutSessionId, isPaid }) => checkoutSessionId === null && isPaid);
  const ids = own.map((one) => one.id);
  const sessionIds = period.paid.flatMap(({ checkoutSessionId }) => checkoutSessionId ?? []);
  const [takenBack, creditCents, ...ofSessions] = await Promise.all([
    readTakenBack(context, scope, own),
    earlierCreditsOf(database, scope, ids, period),
    // A subscription is sold by one session.
    ...sessionIds.map((sessionId) => shareOfSession(context, scope, sessionId)),
  ]);
  const ofInvoices: KeptShare = {
    paidCents: cents(sumCents(own.map(({ amountPaidCents }) => amountPaidCents)) + creditCents),
    takenBackCents: sumCents([...takenBack.values()]),
  };
  const shares = [ofInvoices, ...ofSessions];
  return {
    paidCents: sumCents(shares.map(({ paidCents }) => paidCents)),
    takenBackCents: sumCents(shares.map(({ takenBackCents }) => takenBackCents)),
    sessionsCents: sumCents(ofSessions.map((one) => cents(Math.max(0, one.paidCents - one.takenBackCents)))),
  };
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
      refundedCents: centsFromInt64(line.amountRefundedCents),
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
