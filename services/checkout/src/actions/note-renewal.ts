import type { Scope, Tx } from '@eligo/postgres';
import type { Subscription } from '@eligo/proto/billing/v1/billing';
import { advanceRenewalNote } from '../store/renewal-notes.ts';
import { lockSession, saveSession } from '../store/sessions.ts';

/**
 * Notes on the session that sold a subscription when that renews next, or that it does not any more (decisions 4, `renewal_as_of`). `told` is the
 * subscription and the number of its event; an event before the last one that was noted changes nothing.
 */
export async function noteRenewal(
  tx: Tx,
  scope: Scope,
  subscription: Subscription,
  told: { readonly id: string; readonly seq: bigint },
): Promise<void> {
  if (subscription.checkoutSessionId === undefined) return;
  const session = await lockSession(tx, scope, subscription.checkoutSessionId);
  if (session === undefined) return;
  if (!(await advanceRenewalNote(tx, scope, session.id, told.id, told.seq))) return;
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
