import type { Scope, Tx } from '@eligo/postgres';
import type { Subscription } from '@eligo/proto/billing/v1/billing';
import { lockSession, saveSession } from '../store/sessions.ts';

/** Notes on the session that sold a subscription when that renews next, or that it does not any more (decisions 4, `renewal_as_of`). */
export async function noteRenewal(tx: Tx, scope: Scope, subscription: Subscription): Promise<void> {
  if (subscription.checkoutSessionId === undefined) return;
  const session = await lockSession(tx, scope, subscription.checkoutSessionId);
  if (session === undefined) return;
  const renewalAsOf = nextRenewal(subscription);
  if (renewalAsOf?.getTime() === session.renewalAsOf?.getTime()) return;
  await saveSession(tx, scope, session, { ...session, renewalAsOf });
}

const renewing: ReadonlySet<string> = new Set(['trialing', 'active', 'past_due', 'unpaid']);

function nextRenewal(subscription: Subscription): Date | null {
  const { status, cancelAtPeriodEnd, cancelAtMs, currentPeriodEndMs } = subscription;
  if (!renewing.has(status) || cancelAtPeriodEnd || currentPeriodEndMs === undefined) return null;
  return cancelAtMs !== undefined && cancelAtMs <= currentPeriodEndMs ? null : new Date(Number(currentPeriodEndMs));
}
