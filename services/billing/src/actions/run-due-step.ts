import { type Scope, type Tx, withTx } from '@eligo/postgres';
import type { ChargePace } from '../charge-pace.ts';
import type { Context } from '../context.ts';
import { type DueStep, nextStep } from '../domain/due-step.ts';
import type { Subscription } from '../domain/subscription.ts';
import { releaseSubscription } from '../store/due-subscriptions.ts';
import { findPendingCharge } from '../store/invoice-charges.ts';
import { findSubscription, lockSubscription, saveSubscription } from '../store/subscriptions.ts';
import { findTestClock } from '../store/test-clocks.ts';
import { announcePeriodEnd } from './announce-period-end.ts';
import { askAwaited } from './ask-awaited.ts';
import { appendSubscriptionEvent } from './billing-events.ts';
import { collectInvoice } from './collect-invoice.ts';
import { endSubscription, expireSubscription } from './end-subscription.ts';
import { invoiceBeforeEnd } from './invoice-before-end.ts';
import { renewSubscription } from './renew-subscription.ts';
import { endSetUpWait } from './set-up-card.ts';
import { sharePace } from './share-pace.ts';
import { waitForFeatures } from './wait-for-features.ts';

/**
 * Does the one thing that is due for a subscription which this process has taken, and gives it back. On a test clock it happens at the time at which it is due,
 * by the wall clock now. Every step is safe to repeat: what a crash leaves is found due again. With a pace, a charge waits for its turn. False when nothing was
 * done, and it is to be looked at later.
 */
export async function runDueStep(
  context: Context,
  scope: Scope,
  id: string,
  { pace, asked }: { readonly pace?: ChargePace | undefined; readonly asked?: AskedNow | undefined } = {},
): Promise<boolean> {
  try {
    const subscription = await findSubscription(context.database, scope, id);
    const next = subscription && nextStep(subscription);
    const times = subscription && (await timesOf(context, scope, subscription));
    const isAsked = asked !== undefined && next !== undefined && next.at <= asked.dueBy;
    if (subscription === undefined || next === undefined || times === undefined || (next.at > times.now && !isAsked)) {
      await release(context, scope, id, null);
      return false;
    }
    const at = times.isClock && next.at < times.now ? next.at : times.now;
    const first = next.step === 'end' ? await invoiceBeforeEnd(context, scope, subscription, at) : 'nothing';
    if (first === 'changed') return await giveBack(context, scope, id, 'changed');
    const step = first === 'owes' ? 'collect' : next.step;
    if (step === 'renew' && (await waitForFeatures(context, scope, [subscription])).has(id)) return false;
    const turn = charging.has(step) && pace ? await turnOf(context, pace, scope, times.now) : undefined;
    if (turn !== undefined) {
      await release(context, scope, id, turn);
      return false;
    }
    const outcome = await run(context, scope, subscription, step, at, isAsked);
    return await giveBack(context, scope, id, outcome);
  } catch (error) {
    await giveBackLater(context, scope, id, error);
    return false;
  }
}

/** What a partner asked for now, and that happens now: a step that is due by this time, which can be a millisecond ahead. Its charge is not spread (14.235). */
export interface AskedNow {
  readonly dueBy: Date;
}

/** What became of a step: it is done; the outcome of a charge is unknown; or the subscription changed meanwhile. */
export type StepOutcome = 'done' | 'unknown' | 'changed';

/** Gives a subscription back after a step, unless the step did so itself. True when something was done. */
export async function giveBack(context: Context, scope: Scope, id: string, outcome: StepOutcome): Promise<boolean> {
  if (outcome === 'unknown') await release(context, scope, id, await askAgainAt(context, scope, id));
  else if (outcome === 'changed') await release(context, scope, id, null);
  return outcome === 'done';
}

/** Gives a subscription back whose step failed: it is taken up again soon. */
export async function giveBackLater(context: Context, scope: Scope, id: string, error: unknown): Promise<void> {
  context.logger.error({ err: error, subscriptionId: id }, 'Failed to process a due subscription; will retry');
  await release(context, scope, id, new Date(context.clock.now().getTime() + afterErrorMs));
}

// What may charge a card.
const charging: ReadonlySet<DueStep> = new Set(['renew', 'collect']);

const afterErrorMs = 15_000;

async function turnOf(context: Context, pace: ChargePace, scope: Scope, now: Date): Promise<Date | undefined> {
  await sharePace({ ...context, pace });
  return pace.take(scope, now);
}

async function run(
  context: Context,
  scope: Scope,
  subscription: Subscription,
  step: DueStep,
  at: Date,
  isAsked: boolean,
): Promise<StepOutcome> {
  const { id } = subscription;
  switch (step) {
    case 'renew': {
      const current = await endSetUpWait(context, scope, subscription);
      if (!(await renewSubscription(context, scope, current, at, isAsked))) return 'changed';
      return collectInvoice(context, scope, id, at);
    }
    case 'collect':
      return collectInvoice(context, scope, id, at);
    case 'end': {
      const asked = await askAwaited(context, scope, subscription, true);
      if (asked === 'waits' || asked === 'unknown') return 'unknown';
      return endWhenDue(context, scope, subscription, at, (tx, before) =>
        endSubscription(tx, scope, before, { canceledAt: nextStep(before)?.at ?? at }, at),
      );
    }
    case 'expire': {
      // Its customer has not come. Whatever is known then, the subscription is looked at again.
      const asked = await askAwaited(context, scope, subscription, true);
      if (asked !== 'none') return asked === 'over' ? 'done' : 'unknown';
      return endWhenDue(context, scope, subscription, at, (tx, before) => expireSubscription(tx, scope, before, at));
    }
    case 'announce_trial_end':
      return change(context, scope, subscription, async (tx, before) => {
        const saved = await saveSubscription(tx, scope, before, { ...before, noticeAt: null, heldUntil: null });
        await appendSubscriptionEvent(tx, scope, 'trial_will_end', saved, at);
        return 'done';
      });
    case 'announce_period_end':
      return change(context, scope, subscription, async (tx, before) => {
        await announcePeriodEnd(tx, scope, before, at);
        return 'done';
      });
  }
}

// A charge under way comes first: it may take money for the period.
async function endWhenDue(
  context: Context,
  scope: Scope,
  subscription: Subscription,
  at: Date,
  end: (tx: Tx, before: Subscription) => Promise<unknown>,
): Promise<StepOutcome> {
  const { latestInvoiceId } = subscription;
  const pending = latestInvoiceId && (await findPendingCharge(context.database, scope, latestInvoiceId));
  if (pending) return collectInvoice(context, scope, subscription.id, at);
  return change(context, scope, subscription, async (tx, before) => {
    if (latestInvoiceId !== null && (await findPendingCharge(tx, scope, latestInvoiceId))) return 'changed';
    await end(tx, before);
    return 'done';
  });
}

async function change(
  context: Context,
  scope: Scope,
  subscription: Subscription,
  apply: (tx: Tx, before: Subscription) => Promise<'done' | 'changed'>,
): Promise<'done' | 'changed'> {
  return withTx(context.database, scope, async (tx) => {
    const before = await lockSubscription(tx, scope, subscription.id);
    return before?.version === subscription.version ? apply(tx, before) : 'changed';
  });
}

async function timesOf(
  context: Context,
  scope: Scope,
  { testClockId }: Subscription,
): Promise<{ now: Date; isClock: boolean }> {
  const clock = testClockId === null ? undefined : await findTestClock(context.database, scope, testClockId);
  return clock === undefined ? { now: context.clock.now(), isClock: false } : { now: clock.frozenTime, isClock: true };
}

// When the processor says so, if it has turned the account away. Else half as long again as it is unknown, from a second to a minute: soon after a lost answer, and seldom in a long outage.
async function askAgainAt(context: Context, scope: Scope, id: string): Promise<Date> {
  const pausedUntil = context.pace.pausedUntil(scope, context.clock.now());
  if (pausedUntil !== undefined) return pausedUntil;
  const now = context.clock.now().getTime();
  const subscription = await findSubscription(context.database, scope, id);
  const invoiceId = subscription?.latestInvoiceId ?? '';
  const pending = await findPendingCharge(context.database, scope, invoiceId);
  const ageMs = now - (pending?.createdAt.getTime() ?? now);
  return new Date(now + Math.min(Math.max(ageMs / 2, 1_000), 60_000));
}

function release(context: Context, scope: Scope, id: string, until: Date | null): Promise<void> {
  return withTx(context.database, scope, (tx) => releaseSubscription(tx, scope, id, until));
}
