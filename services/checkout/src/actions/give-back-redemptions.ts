import { withTx } from '@eligo/postgres';
import type { Call } from '@eligo/rpc';
import type { Context } from '../context.ts';
import { expireReplaced } from './end-session.ts';
import { reservationsOf } from './redemptions-end.ts';
import { runCatalogTask } from './run-catalog-task.ts';

/**
 * Expires the earlier session of a key, whose coupons or codes the new one is to redeem, and gives its redemptions back at the catalog: the tasks that its end has noted
 * come too late for this request. False when it was paid meanwhile, so that they are its own. Throws `lock_timeout` while money of it is moving (decisions 1.1).
 */
export async function givesBackRedemptions(context: Context, call: Call, sessionId: string): Promise<boolean> {
  const { scope } = call;
  const session = await withTx(context.database, scope, (tx) => expireReplaced(context, tx, scope, sessionId));
  if (session?.status !== 'expired' && session?.status !== 'canceled') return false;
  for (const reservation of reservationsOf(session)) {
    await runCatalogTask(context, { scope, sessionId: reservation, kind: 'release' }, call);
  }
  return true;
}
