import { type Cents, cents } from '@eligo/values';
import type { Eligibility } from './finalized-invoice.ts';
import { type KeptShare, keptOf } from './kept-share.ts';
import { creditOf, type Proration, type RestOfPeriod } from './proration.ts';
import type { Subscription, SubscriptionItem } from './subscription.ts';

/** What a credit for unused time depends on. */
export interface CreditFacts {
  /** What was paid and refunded of the present period. */
  readonly kept: KeptShare;
  /** What the catalog says of the items, in their order. */
  readonly decisions: readonly Eligibility[];
  /** What no invoice carries yet. */
  readonly pending: readonly Proration[];
}

/** The credit for the rest of this much of a whole period of an item. What nobody has paid yet is credited first, so that a share that moves up and back comes to nothing. */
export function creditForItem(
  { id: subscriptionId, items }: Pick<Subscription, 'id' | 'items'>,
  item: SubscriptionItem,
  wholeCents: Cents,
  { kept, decisions, pending }: CreditFacts,
  rest: RestOfPeriod,
  isShare: boolean,
): Proration[] {
  const decision = decisions[items.findIndex(({ id }) => id === item.id)];
  if (decision === undefined) throw new Error(`Item ${item.id} has no eligibility decision`);
  const unpaidCents = cents(Math.min(wholeCents, unpaidOf(item, pending)));
  const credited = { unpaidCents, paidCents: keptOf(cents(wholeCents - unpaidCents), kept) };
  return creditOf(subscriptionId, item, credited, decision, rest, isShare);
}

// Nobody has paid yet for what is charged with a later invoice, so nothing of it was refunded. What was credited since is no longer owed.
function unpaidOf({ id, invoicedCents }: SubscriptionItem, pending: readonly Proration[]): Cents {
  const own = pending.filter(({ subscriptionItemId }) => subscriptionItemId === id);
  const unpaid = own.reduce(
    (sum, { kind, wholeCents }) => (kind === 'charge' ? sum + wholeCents : Math.max(0, sum - wholeCents)),
    0,
  );
  return cents(Math.min(invoicedCents ?? 0, unpaid));
}
