import { setTimeout as pause } from 'node:timers/promises';
import { Failure } from '@eligo/failures';
import type { Scope } from '@eligo/postgres';
import type { Context } from '../context.ts';
import type { FactsQuery } from '../store/creation-facts.ts';

/** What the catalog says of a coupon or code that cannot be redeemed once more. */
const usedUp: ReadonlySet<string> = new Set(['promo_code_invalid', 'coupon_not_applicable']);

/** A creation takes some tens of milliseconds from its redemption to its session. */
const writtenWithinMs = 200;

/**
 * Whether the same request under the key has written its session meanwhile, which holds the coupon or code for which this one was refused; it is then answered with that
 * session (decisions 1.1).
 */
export async function isWrittenMeanwhile(
  { creationFacts }: Pick<Context, 'creationFacts'>,
  scope: Scope,
  error: unknown,
  { query, requestHash }: { readonly query: FactsQuery; readonly requestHash: Uint8Array | undefined },
): Promise<boolean> {
  const refusals = error instanceof Failure ? (error.violations ?? []) : [];
  if (requestHash === undefined || !refusals.some(({ type }) => usedUp.has(type))) return false;
  for (const waitMs of [0, writtenWithinMs]) {
    if (waitMs > 0) await pause(waitMs);
    const { earlier } = await creationFacts.submit(scope, query);
    const isThere = earlier !== undefined && earlier.status !== 'expired' && earlier.status !== 'canceled';
    // Until the same request has written, the key has the session that it replaces.
    if (isThere && earlier.requestHash.equals(requestHash)) return true;
  }
  return false;
}
