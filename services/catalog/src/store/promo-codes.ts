import { type Db, type Scope, scoped, type Tx } from '@eligo/postgres';
import type { Coupon } from '../domain/coupon.ts';
import type { Metadata } from '../domain/field-rules.ts';
import type { PromoCode, PromoCodeInput } from '../domain/promo-code.ts';
import { type ListShape, type Page, type PageRequest, readPage, valuesBeforeFilters } from './page.ts';
import type { Cut } from './page-cut.ts';

export async function insertPromoCode(
  tx: Tx,
  scope: Scope,
  promoCodeId: string,
  fields: PromoCodeInput & { readonly codeKey: string },
  at: Date,
): Promise<void> {
  const { code, codeKey, couponId, customerId, maxRedemptions, active, expiresAt, metadata } = fields;
  await tx.execute(insert, scope, [
    promoCodeId,
    code,
    codeKey,
    couponId,
    customerId,
    maxRedemptions,
    active,
    expiresAt,
    metadata,
    at,
  ]);
}

export async function findPromoCode(db: Db, scope: Scope, id: string): Promise<PromoCode | undefined> {
  const row = await db.row(find, scope, [id]);
  return row === undefined ? undefined : promoCodeOf(row);
}

/** The promo codes of these ids, and the active ones of these code keys, that are the caller's, in no order. */
export async function findPromoCodes(
  db: Db,
  scope: Scope,
  ids: readonly string[],
  codeKeys: readonly string[],
): Promise<(PromoCode & { codeKey: string })[]> {
  const rows = await db.rows(findMany, scope, [ids, codeKeys]);
  return rows.map((row) => ({ ...promoCodeOf(row), codeKey: row.codeKey }));
}

/** Changes what may change; null leaves it as it is. False when there is no such promo code. */
export async function updatePromoCode(
  tx: Tx,
  scope: Scope,
  id: string,
  active: boolean | null,
  metadata: Metadata | null,
): Promise<boolean> {
  return (await tx.execute(update, scope, [id, active, metadata])) === 1;
}

/** What a list of promo codes is filtered by. */
export interface PromoCodeFilter {
  readonly codeKey: string | undefined;
  readonly couponId: string | undefined;
  readonly customerId: string | undefined;
  readonly active: boolean | undefined;
}

export async function listPromoCodes(
  db: Db,
  scope: Scope,
  page: PageRequest,
  filter: PromoCodeFilter,
): Promise<Page<PromoCode>> {
  const shape = promoCodeListShape(filter);
  const { rows, hasMore } = await readPage<PromoCodeRow>(db, scope, page, shape);
  return { rows: rows.map(promoCodeOf), hasMore };
}

/** A row has its coupon as JSON, whose amount is a number and whose times are texts. */
interface PromoCodeRow extends Omit<PromoCode, 'coupon'> {
  readonly codeKey: string;
  readonly coupon: Omit<Coupon, 'amountOffCents' | 'createdAt' | 'deletedAt'> & {
    readonly amountOffCents: string | null;
    readonly createdAt: string;
    readonly deletedAt: string | null;
  };
}

function promoCodeOf({ codeKey: _key, ...row }: PromoCodeRow): PromoCode {
  const { coupon } = row;
  return {
    ...row,
    coupon: {
      ...coupon,
      amountOffCents: coupon.amountOffCents === null ? null : BigInt(coupon.amountOffCents),
      createdAt: new Date(coupon.createdAt),
      deletedAt: coupon.deletedAt === null ? null : new Date(coupon.deletedAt),
    },
  };
}

const ofScope = 'r.account_id = $1 and r.test_mode = $2';
const columns = `r.promo_code_id as "promoCodeId", r.code, r.code_key as "codeKey", r.customer_id as "customerId",
  r.max_redemptions as "maxRedemptions", r.times_redeemed as "timesRedeemed", r.active, r.expires_at as "expiresAt", r.metadata,
  r.created_at as "createdAt",
  (select json_build_object('couponId', c.coupon_id, 'name', c.name, 'amountOffCents', c.amount_off_cents::text,
     'percentOffBasisPoints', c.percent_off_basis_points, 'duration', c.duration, 'durationInMonths', c.duration_in_months,
     'maxRedemptions', c.max_redemptions, 'timesRedeemed', c.times_redeemed, 'productIds', c.product_ids, 'priceIds', c.price_ids,
     'inline', c.inline, 'metadata', c.metadata, 'createdAt', c.created_at, 'deletedAt', c.deleted_at)
   from coupons c where c.account_id = $1 and c.test_mode = $2 and c.coupon_id = r.coupon_id) as coupon`;

const insert = scoped(
  'promo_codes.insert',
  `insert into promo_codes (account_id, test_mode, promo_code_id, code, code_key, coupon_id, customer_id, max_redemptions, active,
     expires_at, metadata, created_at)
   values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`,
);
const find = scoped<PromoCodeRow>(
  'promo_codes.find',
  `select ${columns} from promo_codes r where ${ofScope} and r.promo_code_id = $3`,
);
const findMany = scoped<PromoCodeRow>(
  'promo_codes.find_many',
  `select ${columns} from promo_codes r where ${ofScope} and r.promo_code_id = any($3::text[])
   union all
   select ${columns} from promo_codes r where ${ofScope} and r.code_key = any($4::text[]) and r.active`,
);
const update = scoped(
  'promo_codes.update',
  `update promo_codes r set active = coalesce($4, r.active), metadata = coalesce($5::jsonb, r.metadata)
   where ${ofScope} and r.promo_code_id = $3`,
);

function promoCodeListShape({ codeKey, couponId, customerId, active }: PromoCodeFilter): ListShape {
  const filters = [
    ['code', 'code_key', codeKey],
    ['coupon', 'coupon_id', couponId],
    ['customer', 'customer_id', customerId],
    ['active', 'active', active],
  ] as const;
  const given = filters.filter(([, , value]) => value !== undefined);
  const conditions = given.map(([, column], index) => `r.${column} = $${valuesBeforeFilters + index + 1}`);
  const where = ['true', ...conditions].join(' and ');
  // A coupon or a customer can have many codes. Their indexes have the state before the id. A code has few records, so its index does not.
  const isOfEitherState =
    active === undefined && codeKey === undefined && (couponId !== undefined || customerId !== undefined);
  return {
    name: ['promo_codes.list', ...given.map(([name]) => name)].join('.'),
    table: 'promo_codes',
    id: 'promo_code_id',
    columns,
    where: isOfEitherState ? (cut) => ofEitherState(where, cut) : where,
    values: given.map(([, , value]) => value),
  };
}

function ofEitherState(where: string, { beyond, order, most }: Cut): string {
  const ofState = (state: string) =>
    `(select r.promo_code_id as id from promo_codes r where ${ofScope} and ${where} and ${state} and ${beyond('r.promo_code_id')}
      order by r.promo_code_id ${order} limit ${most})`;
  return `select page.id from (${ofState('r.active')} union all ${ofState('not r.active')}) page
    order by page.id ${order} limit $3 offset $4`;
}
