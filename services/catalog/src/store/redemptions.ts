import { type Db, type Scope, scoped, type Tx } from '@eligo/postgres';

export type RedemptionState = 'reserved' | 'final' | 'released';

/** What a session holds of the limits. */
export interface Redemption {
  readonly state: RedemptionState;
  readonly couponIds: readonly string[];
  readonly promoCodeIds: readonly string[];
}

/** Notes the session's redemption. False when the session has one already, also a released one. */
export async function claimRedemption(
  tx: Tx,
  scope: Scope,
  sessionId: string,
  redemption: Redemption,
): Promise<boolean> {
  const { state, couponIds, promoCodeIds } = redemption;
  return (await tx.execute(claim, scope, [sessionId, state, couponIds, promoCodeIds])) === 1;
}

/** The session's redemption, locked until the transaction ends. */
export function lockRedemption(tx: Tx, scope: Scope, sessionId: string): Promise<Redemption | undefined> {
  return tx.row(lock, scope, [sessionId]);
}

/** What these sessions and entered discounts hold of the limits now: those that are reserved. */
export function findReserved(db: Db, scope: Scope, sessionIds: readonly string[]): Promise<Redemption[]> {
  return db.rows(reserved, scope, [sessionIds]);
}

/** Moves a reserved redemption on. Zero rows mean that it had moved before. */
export function settleRedemption(
  tx: Tx,
  scope: Scope,
  sessionId: string,
  state: 'final' | 'released',
): Promise<number> {
  return tx.execute(settle, scope, [sessionId, state]);
}

/** The coupon behind each of these promo codes. */
export async function couponsOfPromoCodes(
  tx: Tx,
  scope: Scope,
  promoCodeIds: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const rows = await tx.rows(couponsOf, scope, [promoCodeIds]);
  return new Map(rows.map(({ promoCodeId, couponId }) => [promoCodeId, couponId]));
}

/** Counts one redemption of each of these coupons that still takes one, and returns their ids. Rows are locked in the order of their ids. */
export async function countCoupons(tx: Tx, scope: Scope, couponIds: readonly string[]): Promise<string[]> {
  return (await tx.rows(countCoupon, scope, [couponIds])).map(({ id }) => id);
}

/** Counts one redemption of each of these promo codes that this customer may still use at this time, and returns their ids. */
export async function countPromoCodes(
  tx: Tx,
  scope: Scope,
  promoCodeIds: readonly string[],
  customerId: string | null,
  at: Date,
): Promise<string[]> {
  return (await tx.rows(countPromoCode, scope, [promoCodeIds, customerId, at])).map(({ id }) => id);
}

/** Takes one redemption of each back. */
export async function uncount(tx: Tx, scope: Scope, redemption: Redemption): Promise<void> {
  await tx.execute(uncountCoupons, scope, [redemption.couponIds]);
  await tx.execute(uncountPromoCodes, scope, [redemption.promoCodeIds]);
}

const ofScope = 'account_id = $1 and test_mode = $2';

const claim = scoped(
  'redemptions.claim',
  `insert into redemptions (account_id, test_mode, session_id, state, coupon_ids, promo_code_ids, settled_at)
   values ($1, $2, $3, $4, $5, $6, case when $4 = 'reserved' then null else now() end) on conflict do nothing`,
);
const lock = scoped<Redemption>(
  'redemptions.lock',
  `select state, coupon_ids as "couponIds", promo_code_ids as "promoCodeIds" from redemptions
   where ${ofScope} and session_id = $3 for update`,
);
const reserved = scoped<Redemption>(
  'redemptions.reserved',
  `select state, coupon_ids as "couponIds", promo_code_ids as "promoCodeIds" from redemptions
   where ${ofScope} and session_id = any($3::text[]) and state = 'reserved'`,
);
const settle = scoped(
  'redemptions.settle',
  `update redemptions set state = $4, settled_at = now() where ${ofScope} and session_id = $3 and state = 'reserved'`,
);
const couponsOf = scoped<{ promoCodeId: string; couponId: string }>(
  'redemptions.coupons_of',
  `select promo_code_id as "promoCodeId", coupon_id as "couponId" from promo_codes
   where ${ofScope} and promo_code_id = any($3::text[])`,
);
// Locking in the order of the ids first keeps two sessions that share coupons from waiting for each other in a circle.
const countCoupon = scoped<{ id: string }>(
  'redemptions.count_coupons',
  `with held as materialized (
     select coupon_id from coupons where ${ofScope} and coupon_id = any($3::text[]) order by coupon_id for update)
   update coupons c set times_redeemed = c.times_redeemed + 1, pending = false from held
   where c.account_id = $1 and c.test_mode = $2 and c.coupon_id = held.coupon_id and c.deleted_at is null
     and (c.max_redemptions is null or c.times_redeemed < c.max_redemptions)
   returning c.coupon_id as id`,
);
const countPromoCode = scoped<{ id: string }>(
  'redemptions.count_promo_codes',
  `with held as materialized (
     select promo_code_id from promo_codes where ${ofScope} and promo_code_id = any($3::text[]) order by promo_code_id for update)
   update promo_codes p set times_redeemed = p.times_redeemed + 1 from held
   where p.account_id = $1 and p.test_mode = $2 and p.promo_code_id = held.promo_code_id and p.active
     and (p.max_redemptions is null or p.times_redeemed < p.max_redemptions)
     and (p.customer_id is null or p.customer_id = $4) and (p.expires_at is null or p.expires_at > $5)
   returning p.promo_code_id as id`,
);
const uncountCoupons = scoped(
  'redemptions.uncount_coupons',
  `with held as materialized (
     select coupon_id from coupons where ${ofScope} and coupon_id = any($3::text[]) order by coupon_id for update)
   update coupons c set times_redeemed = c.times_redeemed - 1 from held
   where c.account_id = $1 and c.test_mode = $2 and c.coupon_id = held.coupon_id`,
);
const uncountPromoCodes = scoped(
  'redemptions.uncount_promo_codes',
  `with held as materialized (
     select promo_code_id from promo_codes where ${ofScope} and promo_code_id = any($3::text[]) order by promo_code_id for update)
   update promo_codes p set times_redeemed = p.times_redeemed - 1 from held
   where p.account_id = $1 and p.test_mode = $2 and p.promo_code_id = held.promo_code_id`,
);
