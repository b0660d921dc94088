import type { Scope } from '@eligo/postgres';
import { eachAtOnce } from '@eligo/service';
import { type Cents, cents, centsFromInt64 } from '@eligo/values';
import type { Context } from '../context.ts';

// Each is a read at checkout.
const atOnce = 8;

/** What was refunded of payments and what open and lost disputes hold of them, by the session or the intent that took them. */
export type TakenBack = ReadonlyMap<string, Cents>;

/** What checkout says was taken back of what these sessions and intents took. A refund counts from when it is asked for. */
export async function readTakenBack(
  { checkout, callerFor }: Context,
  scope: Scope,
  { sessionIds, intentIds }: { readonly sessionIds: readonly string[]; readonly intentIds: readonly string[] },
): Promise<TakenBack> {
  const caller = callerFor(scope);
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
