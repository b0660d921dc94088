import { Failure } from '@eligo/failures';
import type { Call } from '@eligo/rpc';
import type { Context } from '../context.ts';
import { nothingKept } from '../domain/kept-share.ts';
import { overlapsPaidPeriod, pauseSubscription, resumeSubscription } from '../domain/pause.ts';
import type { Subscription } from '../domain/subscription.ts';
import { insertProrations, pendingProrations } from '../store/prorations.ts';
import { findSubscription } from '../store/subscriptions.ts';
import { timeOnClock } from '../store/test-clocks.ts';
import { changeNotNow, changeUnderLock } from './change-subscription.ts';
import { eligibilityAt } from './judge-items.ts';
import { isCustomerThere } from './payer.ts';
import { readKeptShare } from './read-kept-share.ts';
import { writeInvoice } from './write-invoice.ts';

/** Pauses an active subscription: it is not billed until it is resumed. While an invoice is being charged or a renewal is due it is 503 `lock_timeout`. */
export function pause(context: Context, call: Call, id: string): Promise<Subscription> {
  return changeUnderLock(context, call, id, async (_tx, before, at) => {
    const after = pauseSubscription(before);
    if (before.paymentAt !== null || before.currentPeriodEnd <= at) throw changeNotNow();
    return after;
  });
}

/** Resumes a paused subscription, and charges at once what that costs. A payment that fails is dunned. */
export async function resume(context: Context, call: Call, id: string, keepsAnchor: boolean): Promise<Subscription> {
  const { scope } = call;
  const known = await findSubscription(context.database, scope, id);
  if (known === undefined) throw new Failure('subscription_not_found');
  if (known.status !== 'paused') throw new Failure('subscription_not_resumable');
  const at = await timeOnClock(context.database, scope, context.clock, known.testClockId);
  const [isThere, decisions, kept] = await Promise.all([
    isCustomerThere(context, scope, known.customerId),
    eligibilityAt(context, scope, known, at),
    overlapsPaidPeriod(known, keepsAnchor, at) ? readKeptShare(context, scope, known, tooManyInvoices) : nothingKept,
  ]);
  if (!isThere) {
    throw new Failure('subscription_not_resumable', { detail: 'The customer of this subscription was deleted.' });
  }
  return changeUnderLock(context, call, id, async (tx, before, now) => {
    // Its items may be others than those whose eligibility was asked.
    if (before.version !== known.version) throw changeNotNow();
    const pending = await pendingProrations(tx, scope, id);
    const resumed = resumeSubscription(before, { kept, decisions, pending }, keepsAnchor, now);
    await insertProrations(tx, scope, resumed.prorations);
    if (resumed.invoice !== null) await writeInvoice(context, tx, scope, resumed.invoice, resumed, now);
    return resumed.subscription;
  });
}

const tooManyInvoices = {
  loc: ['body', 'subscription', 'billing_cycle_anchor'],
  text: 'This period has too many invoices. Send unchanged, or wait until it is over',
};
