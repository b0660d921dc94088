import { type Db, type Scope, scoped, type Tx } from '@eligo/postgres';
import type { Coupon, CouponFields } from '../domain/coupon.ts';
import { selectList } from './columns.ts';
import { type Page, type PageRequest, readPage } from './page.ts';

/** What is stored beside the fields of a new coupon. */
export interface NewCoupon {
  readonly couponId: string;
  /** Belongs to one session and is in no list. */
  readonly inline: boolean;
  /** Waits for its session, and is removed when that never comes to be. */
  readonly pending: boolean;
  readonly at: Date;
}

export async function insertCoupon(tx: Tx, scope: Scope, fields: CouponFields, made: NewCoupon): Promise<Coupon> {
  const coupon = await tx.row(insert, scope, [
    made.couponId,
    fields.name,
    fields.amountOffCents,
    fields.percentOffBasisPoints,
    fields.duration,
    fields.durationInMonths,
    fields.maxRedemptions,
    fields.productIds,
    fields.priceIds,
    made.inline,
    made.pending,
    fields.metadata,
    made.at,
  ]);
  if (coupon === undefined) throw new Error('Inserting a coupon returned no row');
  return coupon;
}

export function findCoupon(db: Db, scope: Scope, id: string): Promise<Coupon | undefined> {
  return db.row(find, scope, [id]);
}

/** The coupons of these ids that are the caller's, in no order. */
export function findCoupons(db: Db, scope: Scope, ids: readonly string[]): Promise<Coupon[]> {
  return db.rows(findMany, scope, [ids]);
}

/** Stops new redemptions. The coupon stays, for the discounts that it gave. */
export function deleteCoupon(tx: Tx, scope: Scope, id: string, at: Date): Promise<Coupon | undefined> {
  return tx.row(remove, scope, [id, at]);
}

export function listCoupons(db: Db, scope: Scope, page: PageRequest): Promise<Page<Coupon>> {
  return readPage(db, scope, page, {
    name: 'coupons.list',
    table: 'coupons',
    id: 'coupon_id',
    columns,
    where: 'not r.inline',
    values: [],
  });
}

/** Notes the coupons that a session's coupon_data makes. Returns the indexes of those that had not been made before. */
export async function claimInlineCoupons(
  tx: Tx,
  scope: Scope,
  sessionId: string,
  made: readonly { readonly discountIndex: number; readonly couponId: string }[],
  at: Date,
): Promise<Set<number>> {
  if (made.length === 0) return new Set();
  const indexes = made.map(({ discountIndex }) => discountIndex);
  const ids = made.map(({ couponId }) => couponId);
  const rows = await tx.rows(claimInline, scope, [sessionId, indexes, ids, at]);
  return new Set(rows.map(({ discountIndex }) => discountIndex));
}

/** Stores the coupons that a session's coupon_data makes. */
export async function insertInlineCoupons(
  tx: Tx,
  scope: Scope,
  made: readonly { readonly couponId: string; readonly fields: CouponFields }[],
  { pending, at }: Pick<NewCoupon, 'pending' | 'at'>,
): Promise<void> {
  if (made.length === 0) return;
  const rows = made.map(({ couponId, fields }) => ({
    ...{ couponId, ...fields },
    amountOffCents: fields.amountOffCents === null ? null : String(fields.amountOffCents),
  }));
  await tx.execute(insertInline, scope, [JSON.stringify(rows), pending, at]);
}

/** The coupons that the session's coupon_data has made, with the index of the discount. */
export function findInlineCoupons(
  db: Db,
  scope: Scope,
  sessionId: string,
): Promise<{ discountIndex: number; couponId: string }[]> {
  return db.rows(findInline, scope, [sessionId]);
}

/** Keeps the coupons that the session's coupon_data has made: the session came to be. Doing it again does nothing. */
export async function keepInlineCoupons(tx: Tx, scope: Scope, sessionId: string): Promise<void> {
  await tx.execute(keepInline, scope, [sessionId]);
}

const columns = selectList(
  {
    couponId: 'coupon_id',
    name: 'name',
    amountOffCents: 'amount_off_cents',
    percentOffBasisPoints: 'percent_off_basis_points',
    duration: 'duration',
    durationInMonths: 'duration_in_months',
    maxRedemptions: 'max_redemptions',
    timesRedeemed: 'times_redeemed',
    productIds: 'product_ids',
    priceIds: 'price_ids',
    inline: 'inline',
    metadata: 'metadata',
    createdAt: 'created_at',
    deletedAt: 'deleted_at',
  },
  'r',
);

const ofScope = 'r.account_id = $1 and r.test_mode = $2';

const insert = scoped<Coupon>(
  'coupons.insert',
  `insert into coupons as r (account_id, test_mode, coupon_id, name, amount_off_cents, percent_off_basis_points, duration,
     duration_in_months, max_redemptions, product_ids, price_ids, inline, pending, metadata, created_at)
   values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15) returning ${columns}`,
);
const find = scoped<Coupon>('coupons.find', `select ${columns} from coupons r where ${ofScope} and r.coupon_id = $3`);
const findMany = scoped<Coupon>(
  'coupons.find_many',
  `select ${columns} from coupons r where ${ofScope} and r.coupon_id = any($3::text[])`,
);
const remove = scoped<Coupon>(
  'coupons.delete',
  `update coupons r set deleted_at = coalesce(r.deleted_at, $4) where ${ofScope} and r.coupon_id = $3 returning ${columns}`,
);
const claimInline = scoped<{ discountIndex: number }>(
  'coupons.claim_inline',
  `insert into inline_coupons (account_id, test_mode, session_id, discount_index, coupon_id, created_at)
   select $1, $2, $3, made.discount_index, made.coupon_id, $6
     from unnest($4::integer[], $5::text[]) as made (discount_index, coupon_id)
    order by made.discount_index
   on conflict do nothing returning discount_index as "discountIndex"`,
);
// Postgres reads numbers in JSON by their text, so they are exact.
const insertInline = scoped<never>(
  'coupons.insert_inline',
  `insert into coupons (account_id, test_mode, coupon_id, name, amount_off_cents, percent_off_basis_points, duration,
     duration_in_months, max_redemptions, product_ids, price_ids, inline, pending, metadata, created_at)
   select $1, $2, c."couponId", c.name, c."amountOffCents", c."percentOffBasisPoints", c.duration, c."durationInMonths",
          c."maxRedemptions", c."productIds", c."priceIds", true, $4, c.metadata, $5
     from json_to_recordset($3::json) as c (
       "couponId" text, name text, "amountOffCents" bigint, "percentOffBasisPoints" integer, duration text, "durationInMonths" integer,
       "maxRedemptions" integer, "productIds" text[], "priceIds" text[], metadata jsonb)`,
);
const findInline = scoped<{ discountIndex: number; couponId: string }>(
  'coupons.find_inline',
  `select discount_index as "discountIndex", coupon_id as "couponId" from inline_coupons
   where account_id = $1 and test_mode = $2 and session_id = $3`,
);
const keepInline = scoped(
  'coupons.keep_inline',
  `update coupons r set pending = false from inline_coupons i
   where i.account_id = $1 and i.test_mode = $2 and i.session_id = $3
     and r.account_id = $1 and r.test_mode = $2 and r.coupon_id = i.coupon_id and r.pending`,
);
