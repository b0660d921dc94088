import { setTimeout as pause } from 'node:timers/promises';
import { Failure } from '@eligo/failures';
import type { CartDiscount } from '@eligo/proto/catalog/v1/catalog';
import type { Call } from '@eligo/rpc';
import type { Context } from '../context.ts';
import type { Session } from '../domain/session.ts';
import type { FactsQuery } from '../store/creation-facts.ts';
import { loadSession } from '../store/sessions.ts';
import { expireIfDue } from './end-session.ts';

/** What the catalog says of a coupon or code that cannot be redeemed once more. */
const usedUp: ReadonlySet<string> = new Set(['promo_code_invalid', 'coupon_not_applicable']);

/** A creation takes some tens of milliseconds from its redemption to its session. */
const writtenWithinMs = 200;

/** A creation under a key that the catalog refused. */
interface RefusedCreation {
  readonly query: FactsQuery;
  readonly requestHash: Uint8Array | undefined;
  readonly discounts: readonly CartDiscount[];
}

/**
 * Whether a creation under a key whose coupons or codes the catalog refused is to be tried again: the same request has written its session meanwhile, or the
 * key's earlier session redeemed one of them, and has expired now (decisions 1.1).
 */
export async function givesBackRedemptions(
  context: Context,
  call: Call,
  error: unknown,
  { query, requestHash, discounts }: RefusedCreation,
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
    if (session === undefined || !(await redeemsOneOf(context, call, session, discounts))) return false;
    if (!(await expireIfDue(context, scope, session.id, { evenIfNotDue: true }))) return false;
    // Its end has noted that they are given back, which is too late for this request.
    await context.catalog.releaseRedemption({ sessionId: session.id }, call);
    return true;
  }
  return false;
}

// Only the catalog knows what record a code names. An earlier session that has nothing of these stays open: its end would give back nothing that is missing.
async function redeemsOneOf(
  { catalog }: Context,
  call: Call,
  session: Session,
  discounts: readonly CartDiscount[],
): Promise<boolean> {
  for (const { source } of discounts) {
    if (source.case === 'couponId' && session.discounts.some(({ couponId }) => couponId === source.value)) return true;
    if (source.case !== 'promoCodeId' && source.case !== 'promoCode') continue;
    const named =
      source.case === 'promoCodeId'
        ? [source.value]
        : (await catalog.listPromoCodes({ code: source.value }, call)).promoCodes.map((code) => code.promoCodeId);
    if (session.discounts.some(({ promoCodeId }) => promoCodeId !== null && named.includes(promoCodeId))) return true;
  }
  return false;
}
