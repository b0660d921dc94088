import { type Scope, withTx } from '@eligo/postgres';
import type { Context } from '../context.ts';
import type { Subscription } from '../domain/subscription.ts';
import { findAccountFeatures } from '../store/account-features.ts';
import { holdForFeatures, lockAccountFeatures } from '../store/awaited-features.ts';
import { needsFeatures } from './judge-items.ts';

/**
 * Holds those of these subscriptions of an account, which this process has taken, that cannot be renewed until the gateway has told what the account can do, and
 * answers their ids. They are freed when it tells. The log says so once for each account.
 */
export async function waitForFeatures(
  { database, clock, logger }: Pick<Context, 'database' | 'clock' | 'logger'>,
  scope: Scope,
  subscriptions: readonly Subscription[],
): Promise<ReadonlySet<string>> {
  const ids = subscriptions.filter(needsFeatures).map(({ id }) => id);
  if (ids.length === 0 || (await findAccountFeatures(database, scope)) !== undefined) return none;
  const until = new Date(clock.now().getTime() + holdMs);
  const held = await withTx(database, scope, async (tx) => {
    await lockAccountFeatures(tx, scope);
    if ((await findAccountFeatures(tx, scope)) !== undefined) return undefined;
    return { isFirst: await holdForFeatures(tx, scope, ids, until) };
  });
  if (held === undefined) return none;
  if (held.isFirst) {
    logger.warn(scope, 'Renewals of an account wait until the gateway sends the features of the account');
  }
  return new Set(ids);
}

const none: ReadonlySet<string> = new Set();

// Shorter than the longest hold that is not taken for one of a clock that was ahead (store/due-subscriptions.ts).
const holdMs = 10 * 60_000;
