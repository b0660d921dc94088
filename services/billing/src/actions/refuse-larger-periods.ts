import type { Scope, Tx } from '@eligo/postgres';
import { laterPeriodCents, nextPeriodCents, refuseLarger, refuseTooLarge } from '../domain/charge-limit.ts';
import { duePending } from '../domain/proration.ts';
import type { Subscription } from '../domain/subscription.ts';
import { pendingProrations } from '../store/prorations.ts';

/**
 * Refuses discounts that make a later period, or the next one with its pending prorations, larger than before and larger than a card can be charged. A subscription that
 * came to too much before may get discounts that make it no larger.
 */
export async function refuseLargerPeriods(
  tx: Tx,
  scope: Scope,
  before: Subscription,
  after: Subscription,
  field: string,
): Promise<void> {
  refuseLarger(laterPeriodCents(after), laterPeriodCents(before), field);
  const nextCents = nextPeriodCents(after);
  if (nextCents <= nextPeriodCents(before)) return;
  refuseTooLarge(nextCents + duePending(await pendingProrations(tx, scope, after.id)), field);
}
