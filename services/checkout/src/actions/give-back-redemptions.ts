import { setTimeout as pause } from 'node:timers/promises';
import { Failure } from '@eligo/failures';
import type { Call } from '@eligo/rpc';
import type { Context } from '../context.ts';
import type { FactsQuery } from '../store/creation-facts.ts';
import { loadSession } from '../store/sessions.ts';
import { expireIfDue } from './end-session.ts';

/** What the catalog says of a coupon or code that cannot be redeemed once more. */
const usedUp: ReadonlySet<string> = new Set(['promo_code_invalid', 'coupon_not_applicable']);

/** A creation takes some tens of milliseconds from its redemption to its session. */
const writtenWithinMs = 200;

/**
 * Whether a creation under a key, which the catalog has refused its coupons or codes, is to be tried again: the same request has written its session meanwhile, or the key's
 * earlier session held the redemptions, and has expired now (decisions 1.1).
 */
export async function givesBackRedemptions(
  context: Context,
  call: Call,
  error: unknown,
  { query, requestHash }: { readonly query: FactsQuery; readonly requestHash: Uint8Array | undefined },
): Promise<boolean> {
  const refusals = error instanceof Failure ? (error.violations ?? []) : [];
  if (requestHash === undefined || !refusals.some(({ type }) => usedUp.has(type))) return false;
  const { scope } = call;
  for (const waitMs of [0, writtenWithinMs]) {
    if (waitMs > 0) await pause(waitMs);
    const { earlier } = await context.creationFacts.submit(scope, query);
    if (earlier === undefined || earlier.status === 'expired' || earlier.status === 'canceled') continue;
    if (earlier.requestHash.equals(requestHash)) return true;
    const session =
      earlier.status === 'open' ? await loadSession(context.database, scope, earlier.sessionId) : undefined;
    if (session === undefined || session.discounts.length === 0) return false;
    if (!(await expireIfDue(context, scope, session.id, { evenIfNotDue: true }))) return false;
    // Its end has noted that they are given back, which is too late for this request.
    await context.catalog.releaseRedemption({ sessionId: session.id }, call);
    return true;
  }
  return false;
}
