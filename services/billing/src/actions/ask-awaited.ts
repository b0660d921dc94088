import { type Scope, withTx } from '@eligo/postgres';
import type { Context } from '../context.ts';
import type { Subscription } from '../domain/subscription.ts';
import { releaseSubscription } from '../store/due-subscriptions.ts';
import { findPendingCharge } from '../store/invoice-charges.ts';
import { lockSubscription, saveSubscription } from '../store/subscriptions.ts';
import { timeOnClock } from '../store/test-clocks.ts';
import { collectInvoice } from './collect-invoice.ts';
import { holdUntil } from './hold-until.ts';

/** Whether the first payment of a subscription is made with its customer there, and has no outcome yet. */
export async function isAwaited(
  { database }: Pick<Context, 'database'>,
  scope: Scope,
  { status, latestInvoiceId }: Pick<Subscription, 'status' | 'latestInvoiceId'>,
): Promise<boolean> {
  if (status !== 'incomplete' || latestInvoiceId === null) return false;
  return (await findPendingCharge(database, scope, latestInvoiceId))?.withCustomer === true;
}

/**
 * Learns what came of a first payment that waits for its customer, and goes on with it. With `giveUp` it waits no longer: checkout cancels it at the processor, so
 * that it takes no money, unless the customer was faster. `none`: the subscription has no such payment, and nothing was asked.
 */
export async function askAwaited(
  context: Context,
  scope: Scope,
  subscription: Subscription,
  giveUp: boolean,
): Promise<'none' | 'over' | 'waits' | 'unknown'> {
  const { id, latestInvoiceId } = subscription;
  if (!(await isAwaited(context, scope, subscription))) return 'none';
  const asked = { id: latestInvoiceId ?? '', giveUp };
  await context.checkout.resumeInvoiceAuthentication(asked, { caller: context.callerFor(scope), timeoutMs });
  const at = await makeDue(context, scope, id);
  const isUnknown = at !== undefined && (await collectInvoice(context, scope, id, at)) === 'unknown';
  if (isUnknown) {
    const again = new Date(context.clock.now().getTime() + againMs);
    await withTx(context.database, scope, (tx) => releaseSubscription(tx, scope, id, again));
  }
  if (!(await isAwaited(context, scope, subscription))) return 'over';
  return isUnknown ? 'unknown' : 'waits';
}

// Checkout's own budget for a look at the processor, and what the way takes.
const timeoutMs = 9_000;
// When another process has the charge, or the processor does not answer.
const againMs = 1_000;

function makeDue(context: Context, scope: Scope, id: string): Promise<Date | undefined> {
  return withTx(context.database, scope, async (tx) => {
    const before = await lockSubscription(tx, scope, id);
    if (before?.status !== 'incomplete') return undefined;
    // Its outcome came by the command meanwhile, and what follows from it is done.
    if ((await findPendingCharge(tx, scope, before.latestInvoiceId ?? ''))?.withCustomer !== true) return undefined;
    const at = await timeOnClock(tx, scope, context.clock, before.testClockId);
    // After a crash the job asks.
    await saveSubscription(tx, scope, before, { ...before, paymentAt: at, heldUntil: holdUntil(context) });
    return at;
  });
}
