import { Failure } from '@eligo/failures';
import { type Db, type Scope, type Tx, withTx } from '@eligo/postgres';
import type { Call } from '@eligo/rpc';
import type { Context } from '../context.ts';
import { endsWithPastPeriod } from '../domain/cancellation.ts';
import { nextStep } from '../domain/due-step.ts';
import type { Subscription } from '../domain/subscription.ts';
import { findPendingCharge } from '../store/invoice-charges.ts';
import { findSubscription, lockSubscription, saveSubscription } from '../store/subscriptions.ts';
import { findTestClock } from '../store/test-clocks.ts';
import { appendSubscriptionEvent } from './billing-events.ts';
import { endSubscription } from './end-subscription.ts';
import { holdUntil } from './hold-until.ts';
import { runDueNow } from './run-due-now.ts';
import { wakeWhenDue } from './wake-when-due.ts';

/**
 * Changes a subscription in one transaction under its lock, tells of it, and does at once what the change has made due. One that is to end with a period
 * that is over ends in it. `decide` is given the subscription as it is then, and the time of its clock; a refusal that it returns
 * is thrown once what it has noted is committed. Returns it as it is afterwards. With `endsTrial` the
 * change ends its trial now, and the period that then begins is charged now as well: `lock_timeout` while another process works on it.
 */
export async function changeUnderLock(
  context: Context,
  call: Call,
  id: string,
  decide: (tx: Tx, before: Subscription, at: Date) => Promise<Subscription | Failure>,
  endsTrial = false,
): Promise<Subscription> {
  const { scope } = call;
  const changed = await withTx(context.database, scope, async (tx) => {
    const before = await lockSubscription(tx, scope, id);
    if (before === undefined) throw new Failure('subscription_not_found');
    const { at, isPassing } = await timeOfChange(context, tx, scope, before);
    const after = await decide(tx, before, at).catch((error: unknown) => {
      // It is judged by a state that what is due is about to end.
      throw isPassing && error instanceof Failure ? changeNotNow() : error;
    });
    if (after instanceof Failure) return { refusal: after };
    if (isPassing) throw changeNotNow();
    if (endsTrial && isHeld(context, before)) throw changeNotNow();
    const next = nextStep(after);
    // A trial that ends as it begins lasts a millisecond.
    const dueBy = endsTrial && after.trialEnd !== null && after.trialEnd > at ? after.trialEnd : at;
    const isDue = next !== undefined && next.at <= dueBy && !isHeld(context, before);
    const saved = await saveSubscription(tx, scope, before, {
      ...after,
      ...(isDue ? { heldUntil: holdUntil(context) } : {}),
    });
    wakeWhenDue(tx, saved, at);
    await appendSubscriptionEvent(tx, scope, 'updated', saved, at);
    if (endsWithPastPeriod(before, after, at)) {
      await refuseWhileCharging(tx, scope, before);
      const ended = await endSubscription(tx, scope, saved, { heldUntil: null }, at);
      return { saved: ended, isDue: false, asked: undefined };
    }
    return { saved, isDue, asked: endsTrial ? { dueBy } : undefined };
  });
  if ('refusal' in changed) throw changed.refusal;
  await context.failpoint('subscription.changed');
  if (!changed.isDue) return changed.saved;
  await runDueNow(context, scope, id, changed.asked);
  return (await findSubscription(context.database, scope, id)) ?? changed.saved;
}

/** Throws `lock_timeout` while the outcome of a charge of the latest invoice is unknown: it may take money for it. */
export async function refuseWhileCharging(tx: Tx, scope: Scope, { latestInvoiceId }: Subscription): Promise<void> {
  if (latestInvoiceId === null) return;
  if ((await findPendingCharge(tx, scope, latestInvoiceId)) !== undefined) throw changeNotNow();
}

/**
 * When a change of a subscription happens, and whether its test clock advances past something of the subscription that is due: the change would happen at the clock's new time, and
 * what is due before it would come after, so that it is `lock_timeout`. The clock is read once: an advance that commits meanwhile is not there yet, neither its status nor its time.
 */
export async function timeOfChange(
  { clock }: Pick<Context, 'clock'>,
  db: Db,
  scope: Scope,
  subscription: Subscription,
): Promise<{ readonly at: Date; readonly isPassing: boolean }> {
  const { testClockId } = subscription;
  const testClock = testClockId === null ? undefined : await findTestClock(db, scope, testClockId);
  if (testClock === undefined) return { at: clock.now(), isPassing: false };
  const { status, frozenTime } = testClock;
  const next = nextStep(subscription);
  return { at: frozenTime, isPassing: status === 'advancing' && next !== undefined && next.at <= frozenTime };
}

/** The refusal while a charge, a renewal or an advance of its test clock is in flight: retry after a second. */
export function changeNotNow(): Failure {
  return new Failure('lock_timeout', { retryAfterSeconds: 1 });
}

// Another process is doing what is due, and will find what has changed.
function isHeld({ clock }: Context, { heldUntil }: Subscription): boolean {
  return heldUntil !== null && heldUntil > clock.now();
}
