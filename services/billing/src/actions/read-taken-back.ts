import type { Scope } from '@eligo/postgres';
import { eachAtOnce } from '@eligo/service';
import { type Cents, cents, centsFromInt64 } from '@eligo/values';
import type { Context } from '../context.ts';
import type { Invoice } from '../domain/invoice.ts';
import { intentsOfInvoices } from '../store/paid-invoices.ts';

// Each is a read at checkout.
const atOnce = 8;

/** What was refunded of payments and what open and lost disputes hold of them, by the session or the intent that took them. */
export type TakenBack = ReadonlyMap<string, Cents>;

/** What checkout says was taken back of the payments of these invoices. The session knows the payments of a first invoice. A refund counts from when it is asked for. */
export async function readTakenBack(
  { database, checkout, callerFor }: Context,
  scope: Scope,
  invoices: readonly Pick<Invoice, 'id' | 'checkoutSessionId'>[],
): Promise<TakenBack> {
  const caller = callerFor(scope);
  const sessionIds = invoices.flatMap(({ checkoutSessionId }) => checkoutSessionId ?? []);
  const own = invoices.filter(({ checkoutSessionId }) => checkoutSessionId === null).map(({ id }) => id);
  const intentIds = (await intentsOfInvoices(database, scope, own)).map(({ intentId }) => intentId);
  const takenBack = new Map<string, Cents>();
  await eachAtOnce(sessionIds, { atOnce }, async (id) => {
    takenBack.set(id, centsOf(await checkout.getSession({ id }, { caller })));
  });
  await eachAtOnce(intentIds, { atOnce }, async (id) => {
    takenBack.set(id, centsOf(await checkout.getPaymentIntent({ id }, { caller })));
  });
  return takenBack;
}

interface GivenBack {
  readonly amountRefundedCents: bigint;
  readonly amountDisputedCents: bigint;
}

function centsOf({ amountRefundedCents, amountDisputedCents }: GivenBack): Cents {
  return cents(centsFromInt64(amountRefundedCents) + centsFromInt64(amountDisputedCents));
}
