import type { Scope } from '@eligo/postgres';
import { eachAtOnce } from '@eligo/service';
import { type Cents, cents, centsFromInt64, sumCents } from '@eligo/values';
import type { Context } from '../context.ts';

// Each is a read at checkout.
const atOnce = 8;

/** What was refunded of payments and what open and lost disputes hold of them, by the session or the intent that took them. */
export type TakenBack = ReadonlyMap<string, Cents>;

/**
 * What checkout says was taken back of what these sessions and intents took. A refund counts from when it is asked for. Of a card no more is taken back than it paid: what was refunded
 * and disputed of a device takes nothing of a plan on the other card.
 */
export async function readTakenBack(
  { checkout, callerFor }: Context,
  scope: Scope,
  { sessionIds, intentIds }: { readonly sessionIds: readonly string[]; readonly intentIds: readonly string[] },
): Promise<TakenBack> {
  const caller = callerFor(scope);
  const takenBack = new Map<string, Cents>();
  await eachAtOnce(sessionIds, { atOnce }, async (id) => {
    takenBack.set(id, await takenBackOfSession({ checkout, callerFor }, scope, id));
  });
  await eachAtOnce(intentIds, { atOnce }, async (id) => {
    takenBack.set(id, centsOf(await checkout.getPaymentIntent({ id }, { caller })));
  });
  return takenBack;
}

async function takenBackOfSession(
  { checkout, callerFor }: Pick<Context, 'checkout' | 'callerFor'>,
  scope: Scope,
  id: string,
): Promise<Cents> {
  const caller = callerFor(scope);
  const session = await checkout.getSession({ id }, { caller });
  const { amountRefundedCents, amountDisputedCents, paymentIntentIds } = session;
  if (paymentIntentIds.length < 2 || amountRefundedCents === 0n || amountDisputedCents === 0n) return centsOf(session);
  const ofCards: Cents[] = [];
  await eachAtOnce(paymentIntentIds, { atOnce }, async (intentId) => {
    const card = await checkout.getPaymentIntent({ id: intentId }, { caller });
    ofCards.push(cents(Math.min(centsFromInt64(card.amountReceivedCents), centsOf(card))));
  });
  return sumCents(ofCards);
}

interface GivenBack {
  readonly amountRefundedCents: bigint;
  readonly amountDisputedCents: bigint;
}

function centsOf({ amountRefundedCents, amountDisputedCents }: GivenBack): Cents {
  return cents(centsFromInt64(amountRefundedCents) + centsFromInt64(amountDisputedCents));
}
