import { type Scope, type Tx, withTx } from '@eligo/postgres';
import type { Context } from '../context.ts';
import { type DueStep, nextStep } from '../domain/due-step.ts';
import type { Subscription } from '../domain/subscription.ts';
import { releaseSubscription } from '../store/due-subscriptions.ts';
import { findPendingCharge } from '../store/invoice-charges.ts';
import { findSubscription, lockSubscription, saveSubscription } from '../store/subscriptions.ts';
import { findTestClock } from '../store/test-clocks.ts';
import { appendSubscriptionEvent } from './billing-events.ts';
import { collectInvoice } from './collect-invoice.ts';
import { endSubscription } from './end-subscription.ts';
import { renewSubscription } from './renew-subscription.ts';

/** Longer than a step takes: two calls to other services, and a charge of each of two cards. */
export const holdMs = 60_000;

/**
 * Does the one thing that is due for a subscription which this process has taken, and gives it back. On a test clock it happens at the time at which it is due,
 * by the wall clock now. Every step is safe to repeat: what a crash leaves is found due again. False when nothing was done, and it is to be looked at later.
 */
export async function runDueStep(work: Context, scope: Scope, id: string): Promise<boolean> {
  try {
    const subscription = await findSubscription(work.database, scope, id);
    const next = subscription && nextStep(subscription);
    const times = subscription && (await timesOf(work, scope, subscription));
    if (subscription === undefined || next === undefined || times === undefined || next.at > times.now) {
      await release(work, scope, id, null);
      return false;
    }
    const outcome = await run(work, scope, subscription, next.step, times.isClock ? next.at : times.now);
    if (outcome === 'unknown') await release(work, scope, id, await askAgainAt(work, scope, subscription));
    else if (outcome === 'changed') await release(work, scope, id, null);
    return outcome === 'done';
  } catch (error) {
    work.logger.error({ err: error, subscriptionId: id }, 'Failed to do what is due for a subscription; will retry');
    await release(work, scope, id, new Date(work.clock.now().getTime() + afterErrorMs));
    return false;
  }
}

const afterErrorMs = 15_000;

async function run(
  work: Context,
  scope: Scope,
  subscription: Subscription,
  step: DueStep,
  at: Date,
): Promise<'done' | 'unknown' | 'changed'> {
  const { id } = subscription;
  switch (step) {
    case 'renew':
      if (!(await renewSubscription(work, scope, subscription, at))) return 'changed';
      return collectInvoice(work, scope, id, at);
    case 'collect':
      return collectInvoice(work, scope, id, at);
    case 'end':
      return endWhenDue(work, scope, subscription, at);
    case 'announce_trial_end':
      return change(work, scope, subscription, async (tx, before) => {
        const saved = await saveSubscription(tx, scope, before, { ...before, noticeAt: null, heldUntil: null });
        await appendSubscriptionEvent(tx, scope, 'trial_will_end', saved, at);
        return 'done';
      });
  }
}

// A charge under way comes first: it may take money for the period.
async function endWhenDue(
  work: Context,
  scope: Scope,
  subscription: Subscription,
  at: Date,
): Promise<'done' | 'unknown' | 'changed'> {
  const { latestInvoiceId } = subscription;
  const pending = latestInvoiceId && (await findPendingCharge(work.database, scope, latestInvoiceId));
  if (pending) return collectInvoice(work, scope, subscription.id, at);
  return change(work, scope, subscription, async (tx, before) => {
    if (latestInvoiceId !== null && (await findPendingCharge(tx, scope, latestInvoiceId))) return 'changed';
    await endSubscription(tx, scope, before, { canceledAt: nextStep(before)?.at ?? at }, at);
    return 'done';
  });
}

async function change(
  work: Context,
  scope: Scope,
  subscription: Subscription,
  apply: (tx: Tx, before: Subscription) => Promise<'done' | 'changed'>,
): Promise<'done' | 'changed'> {
  return withTx(work.database, scope, async (tx) => {
    const before = await lockSubscription(tx, scope, subscription.id);
    return before?.version === subscription.version ? apply(tx, before) : 'changed';
  });
}

async function timesOf(
  work: Context,
  scope: Scope,
  { testClockId }: Subscription,
): Promise<{ now: Date; isClock: boolean }> {
  const clock = testClockId === null ? undefined : await findTestClock(work.database, scope, testClockId);
  return clock === undefined ? { now: work.clock.now(), isClock: false } : { now: clock.frozenTime, isClock: true };
}

// Half as long again as it is unknown, from a second to a minute: soon after a lost answer, and seldom in a long outage.
async function askAgainAt(work: Context, scope: Scope, { id }: Subscription): Promise<Date> {
  const now = work.clock.now().getTime();
  const subscription = await findSubscription(work.database, scope, id);
  const invoiceId = subscription?.latestInvoiceId ?? '';
  const pending = await findPendingCharge(work.database, scope, invoiceId);
  const ageMs = now - (pending?.createdAt.getTime() ?? now);
  return new Date(now + Math.min(Math.max(ageMs / 2, 1_000), 60_000));
}

function release(work: Context, scope: Scope, id: string, until: Date | null): Promise<void> {
  return withTx(work.database, scope, (tx) => releaseSubscription(tx, scope, id, until));
}
