import { type Scope, withTx } from '@eligo/postgres';
import type { Context } from '../context.ts';
import { nextStep } from '../domain/due-step.ts';
import type { Invoice } from '../domain/invoice.ts';
import { type Eligibility, renew } from '../domain/renewal.ts';
import type { Subscription } from '../domain/subscription.ts';
import { insertInvoiceLines } from '../store/invoice-lines.ts';
import { insertInvoice } from '../store/invoices.ts';
import { lockSubscription, saveSubscription } from '../store/subscriptions.ts';
import { appendInvoiceEvent, appendSubscriptionEvent } from './billing-events.ts';
import { endSubscription } from './end-subscription.ts';
import { isCustomerThere } from './payer.ts';
import { wakeWhenDue } from './wake-when-due.ts';

/**
 * Begins the next period of a subscription and makes its invoice, once: the unique index on the subscription and the period refuses a second one, whatever
 * crashes. Its eligibility is asked anew, as of the beginning of the period. Nothing is charged here. A subscription whose customer was deleted ends. At the
 * end of a trial without a card it does what the sale agreed. True when something was done; false when the subscription changed meanwhile.
 */
export async function renewSubscription(
  work: Context,
  scope: Scope,
  subscription: Subscription,
  at: Date,
): Promise<boolean> {
  const [isThere, eligibility] = await Promise.all([
    isCustomerThere(work, scope, subscription.customerId),
    eligibilityOf(work, scope, subscription),
  ]);
  await work.failpoint('renewal.resolved');
  const renewed = await withTx(work.database, scope, async (tx) => {
    const before = await lockSubscription(tx, scope, subscription.id);
    if (before?.version !== subscription.version || nextStep(before)?.step !== 'renew') return false;
    if (!isThere) {
      await endSubscription(tx, scope, before, undefined, at);
      return true;
    }
    const withoutCard = endOfTrialWithoutCard(before);
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
    const next = renew(before, eligibility, at);
    const owes = next.subscription.paymentAt !== null;
    // What it owes is charged next, by the same process.
    const saved = await saveSubscription(tx, scope, before, {
      ...next.subscription,
      heldUntil: owes ? before.heldUntil : null,
    });
    wakeWhenDue(tx, saved, at);
    await appendSubscriptionEvent(tx, scope, 'updated', saved, at);
    for (const [type, invoice] of statesOf(next.invoice)) await appendInvoiceEvent(tx, scope, type, invoice, at);
    await insertInvoice(tx, scope, next.invoice);
    await insertInvoiceLines(tx, scope, next.invoice.id, next.lines);
    return true;
  });
  await work.failpoint('renewal.invoiced');
  return renewed;
}

// It passes through its first states at once; each is told.
function statesOf(invoice: Invoice): [type: 'created' | 'finalized' | 'paid', invoice: Invoice][] {
  const created: Invoice = { ...invoice, status: 'draft', finalizedAt: null, paidAt: null };
  const finalized: Invoice = invoice.status === 'paid' ? { ...invoice, status: 'open', paidAt: null } : invoice;
  return [
    ['created', created],
    ['finalized', finalized],
    ...(invoice.status === 'paid' ? [['paid', invoice] as ['paid', Invoice]] : []),
  ];
}

function endOfTrialWithoutCard({ status, defaultPaymentMethodId, missingPaymentMethod }: Subscription): string | null {
  return status === 'trialing' && defaultPaymentMethodId === null ? missingPaymentMethod : null;
}

// The account's features do not travel with work of billing's own. An item that was sold by the food policy is judged by it again: the account had the
// feature then.
async function eligibilityOf(work: Context, scope: Scope, subscription: Subscription): Promise<Eligibility[]> {
  const features = subscription.items.some((item) => item.soldByRule === 'food_policy') ? ['food_eligibility'] : [];
  const { items } = await work.catalog.evaluateEligibility(
    {
      items: subscription.items.map((item) => ({
        item: { case: 'priceId' as const, value: item.priceId },
        quantity: BigInt(item.quantity),
      })),
      atMs: BigInt(subscription.currentPeriodEnd.getTime()),
    },
    { caller: work.callerFor({ ...scope, features }) },
  );
  return items.map(({ decision }) => ({
    eligibility: decision?.hsaFsaEligibility ?? null,
    rule: decision?.rule ?? 'none',
    ruleVersion: decision?.ruleVersion ?? '',
    rationale: decision?.rationale ?? '',
  }));
}
