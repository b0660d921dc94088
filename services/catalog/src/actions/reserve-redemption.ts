import { Failure, type FailureCode } from '@eligo/failures';
import { withTx } from '@eligo/postgres';
import type { Asker, Context } from '../context.ts';
import type { Loc } from '../domain/field-rules.ts';
import { badReference } from '../domain/reference.ts';
import {
  claimRedemption,
  countCoupons,
  countPromoCodes,
  couponsOfPromoCodes,
  lockRedemption,
} from '../store/redemptions.ts';

/** What a session redeems. */
export interface RedemptionInput {
  readonly sessionId: string;
  readonly couponIds: readonly string[];
  readonly promoCodeIds: readonly string[];
  readonly customerId: string | null;
  readonly at: Date;
  /** Where the discounts stand in the partner's body; undefined when there is no body. */
  readonly discountsLoc: Loc | undefined;
}

/**
 * Counts one redemption of each promo code and of each coupon, those behind the codes included, however often the session lists it. All or
 * none; once for a session, whatever is repeated. A session whose redemption was released is over and takes no other: a reservation that
 * arrives after its own release is refused, so that nothing stays counted.
 */
export function reserveRedemption({ database }: Context, { scope }: Asker, input: RedemptionInput): Promise<void> {
  const promoCodeIds = [...new Set(input.promoCodeIds)];
  return withTx(database, scope, async (tx) => {
    const behind = await couponsOfPromoCodes(tx, scope, promoCodeIds);
    const couponIds = [...new Set([...input.couponIds, ...behind.values()])];
    const redemption = { state: 'reserved', couponIds, promoCodeIds } as const;
    if (!(await claimRedemption(tx, scope, input.sessionId, redemption))) {
      const earlier = await lockRedemption(tx, scope, input.sessionId);
      if (earlier?.state === 'released') throw new Failure('conflict');
      return;
    }
    const coupons = new Set(await countCoupons(tx, scope, couponIds));
    // A code whose coupon is used up cannot be used: reported for the code, as when the cart is resolved.
    const dead = promoCodeIds.find((id) => !coupons.has(behind.get(id) ?? ''));
    if (dead !== undefined) throw refusal('promo_code_invalid', dead, input.discountsLoc);
    const used = couponIds.find((id) => !coupons.has(id));
    if (used !== undefined) throw refusal('coupon_not_applicable', used, input.discountsLoc);
    const codes = new Set(await countPromoCodes(tx, scope, promoCodeIds, input.customerId, input.at));
    const refused = promoCodeIds.find((id) => !codes.has(id));
    if (refused !== undefined) throw refusal('promo_code_invalid', refused, input.discountsLoc);
  });
}

// The call knows the discounts by their records and not by their places in the body, so the entry names the record.
function refusal(code: FailureCode, id: string, loc: Loc | undefined): Failure {
  return loc === undefined ? new Failure(code) : badReference(loc, code, id);
}
