import { type Scope, withTx } from '@eligo/postgres';
import type { Context } from '../context.ts';
import { nextStep } from '../domain/due-step.ts';
import { beginPeriod } from '../domain/renewal.ts';
import type { Subscription } from '../domain/subscription.ts';
import { endOfTrialWithoutCard } from '../domain/trial-without-card.ts';
import { isBackupAgreed } from '../store/backup-agreements.ts';
import { pendingProrations } from '../store/prorations.ts';
import { findRenewalSpread } from '../store/renewal-settings.ts';
import { lockSubscription, saveSubscription } from '../store/subscriptions.ts';
import { appendSubscriptionEvent } from './billing-events.ts';
import { endSubscription } from './end-subscription.ts';
import { eligibilityAt } from './judge-items.ts';
import { cardsOf, isCustomerThere } from './payer.ts';
import { wakeWhenDue } from './wake-when-due.ts';
import { writeInvoice } from './write-invoice.ts';

/**
 * Begins the next period of a subscription and makes its invoice, once: the unique index on the subscription and the period refuses a second one, whatever
 * crashes. Its eligibility is asked anew, as of the beginning of the period. Nothing is charged here. A subscription whose customer was deleted ends. At the
 * end of a trial without a card it does what the sale agreed. With `isAsked` a partner asked for it now, and its charge is not spread. True when something was
 * done; false when the subscription changed meanwhile.
 */
export async function renewSubscription(
  context: Context,
  scope: Scope,
  subscription: Subscription,
  at: Date,
  isAsked = false,
): Promise<boolean> {
  const [isThere, eligibility, spreadMinutes, cards, isAgreed] = await Promise.all([
    isCustomerThere(context, scope, subscription.customerId),
    eligibilityAt(context, scope, subscription, subscription.currentPeriodEnd),
    isAsked ? 0 : findRenewalSpread(context.database, scope),
    mayEndWithoutCard(subscription) ? cardsOf(context, scope, subscription) : undefined,
    mayEndWithoutCard(subscription) && isBackupAgreed(context.database, scope),
  ]);
  await context.failpoint('renewal.resolved');
  const renewed = await withTx(context.database, scope, async (tx) => {
    const before = await lockSubscription(tx, scope, subscription.id);
    if (before?.version !== subscription.version || nextStep(before)?.step !== 'renew') return false;
    if (!isThere) {
      await endSubscription(tx, scope, before, undefined, at);
      return true;
    }
    const pending = await pendingProrations(tx, scope, before.id);
    const next = beginPeriod(before, { eligibility, pending, spreadMinutes }, at);
    const withoutCard = endOfTrialWithoutCard(before, next.invoice, cards, isAgreed);
    if (withoutCard === 'cancel') {
      await endSubscription(tx, scope, before, undefined, at);
      return true;
    }
    if (withoutCard === 'pause') {
      const paused = await saveSubscription(tx, scope, before, {
        ...before,
        status: 'paused',
        noticeAt: null,
        heldUntil: null,
      });
      await appendSubscriptionEvent(tx, scope, 'updated', paused, at);
      return true;
    }
    const saved = await saveSubscription(tx, scope, before, next.subscription);
    wakeWhenDue(tx, saved, at);
    await appendSubscriptionEvent(tx, scope, 'updated', saved, at);
    await writeInvoice(context, tx, scope, next.invoice, next, at);
    return true;
  });
  await context.failpoint('renewal.invoiced');
  return renewed;
}

// Only the end of a trial asks whether the cards are there: an amount that no card can pay then is not owed.
function mayEndWithoutCard({ status, missingPaymentMethod }: Subscription): boolean {
  return status === 'trialing' && missingPaymentMethod !== null;
}
