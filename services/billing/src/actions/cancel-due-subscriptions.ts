import type { Scope } from '@eligo/postgres';
import type { Context } from '../context.ts';
import { dueOnClock } from '../store/subscriptions.ts';
import { cancelIfDue } from './cancel-subscription.ts';

/** Subscriptions that one look finds and ends: a longer page would hold its database connection from other work. */
export const mostAtOnce = 50;

/** Ends the subscriptions that live on a test clock and end by this time. True when there may be more. */
export async function cancelOnClock(
  work: Context,
  scope: Scope,
  clockId: string,
  until: Date,
  signal?: AbortSignal,
): Promise<boolean> {
  const ids = await dueOnClock(work.database, scope, clockId, until, mostAtOnce);
  return cancelEach(
    work,
    ids.map((id) => ({ scope, id })),
    signal,
  );
}

/** Ends each of these subscriptions if it is due. True when there may be more; not when none could be ended: the next look would find the same. */
export async function cancelEach(
  work: Context,
  found: readonly { scope: Scope; id: string }[],
  signal: AbortSignal | undefined,
): Promise<boolean> {
  let ended = 0;
  for (const { scope, id } of found) {
    if (signal?.aborted) return false;
    try {
      if (await cancelIfDue(work, scope, id)) ended += 1;
    } catch (error) {
      // One that fails must not keep those behind it from ending.
      work.logger.error(
        { err: error, subscriptionId: id },
        'Failed to cancel a subscription at the end of its period; will retry',
      );
    }
  }
  return found.length === mostAtOnce && ended > 0;
}
