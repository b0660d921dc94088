import { Failure } from '@eligo/failures';
import type { Scope } from '@eligo/postgres';
import { eachAtOnce } from '@eligo/service';
import { cents, centsFromInt64, sumCents } from '@eligo/values';
import type { Context } from '../context.ts';
import type { KeptShare } from '../domain/kept-share.ts';
import type { Subscription } from '../domain/subscription.ts';
import { intentsOfInvoices, paidInvoicesSince } from '../store/paid-invoices.ts';

// Each is a read at checkout.
const atOnce = 8;

/**
 * What was paid for the present period of a subscription, and what checkout says was refunded or disputed of it. A refund counts from when it is asked for, a
 * dispute while it is open or lost. Throws a 422 for a period of so many invoices that not all are looked at.
 */
export async function readKeptShare(
  { database, checkout, callerFor }: Context,
  scope: Scope,
  { id, currentPeriodStart }: Subscription,
): Promise<KeptShare> {
  const { invoices, mayBeMore } = await paidInvoicesSince(database, scope, id, currentPeriodStart);
  if (mayBeMore) throw tooManyInvoices();
  const caller = callerFor(scope);
  let takenBackCents = cents(0);
  const add = ({ amountRefundedCents, amountDisputedCents }: TakenBack) => {
    takenBackCents = cents(takenBackCents + centsFromInt64(amountRefundedCents + amountDisputedCents));
  };
  // The session knows the payments of the first invoice.
  const sessionIds = invoices.flatMap(({ checkoutSessionId }) => checkoutSessionId ?? []);
  const own = invoices.filter(({ checkoutSessionId }) => checkoutSessionId === null);
  const intentIds = await intentsOfInvoices(
    database,
    scope,
    own.map((invoice) => invoice.id),
  );
  await eachAtOnce(sessionIds, { atOnce }, async (sessionId) => {
    add(await checkout.getSession({ id: sessionId }, { caller }));
  });
  await eachAtOnce(intentIds, { atOnce }, async (intentId) => {
    add(await checkout.getPaymentIntent({ id: intentId }, { caller }));
  });
  return { paidCents: sumCents(invoices.map(({ amountPaidCents }) => amountPaidCents)), takenBackCents };
}

interface TakenBack {
  readonly amountRefundedCents: bigint;
  readonly amountDisputedCents: bigint;
}

function tooManyInvoices(): Failure {
  return Failure.invalid(
    ['body', 'subscription', 'proration_behavior'],
    'value_error',
    'This period has too many invoices. Send none, or wait for the next renewal',
  );
}
