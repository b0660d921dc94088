import { type Db, type Scope, scoped } from '@eligo/postgres';
import type { Price } from '../domain/price.ts';
import type { Product } from '../domain/product.ts';
import type { ShippingRate } from '../domain/shipping-rate.ts';
import { fromPrefixed, selectList } from './columns.ts';
import { priceColumns } from './prices.ts';
import { productColumns } from './products.ts';
import { shippingRateColumns } from './shipping-rates.ts';

/** What a cart's prices stand for; what is not for sale is not in it. */
export interface CartRecords {
  readonly prices: ReadonlyMap<string, SoldPrice>;
  readonly shippingRate: ShippingRate | undefined;
}

interface SoldPrice {
  readonly price: Price;
  readonly product: Product;
}

/** What a cart names. */
export interface CartQuery {
  readonly priceIds: readonly string[];
  /** The session's own inline prices, which need not be for sale yet, and those that a subscription has already, which need not be for sale any more. */
  readonly ownIds: readonly string[];
  readonly shippingRateId: string | undefined;
}

/**
 * The prices of some carts with their products, and their shipping rates, in one round trip: this is on the way of every session's creation. An archived
 * record counts as none, unless it is one of its cart's own. Returns the records of each cart, in the same order.
 */
export async function findCartRecords(db: Db, scope: Scope, carts: readonly CartQuery[]): Promise<CartRecords[]> {
  const priceIds = [...new Set(carts.flatMap((cart) => cart.priceIds))];
  const rateIds = [...new Set(carts.flatMap(({ shippingRateId }) => shippingRateId ?? []))];
  const rows = await db.rows(find, scope, [priceIds, carts.flatMap(({ ownIds }) => ownIds), rateIds]);
  const prices = new Map<string, SoldPrice & { isForSale: boolean }>();
  const rates = new Map<string, ShippingRate>();
  for (const row of rows) {
    if (row.price_priceId !== null) {
      const price = fromPrefixed<Price>({ ...priceColumns, productEligibilityKey: 'eligibility_key' }, row, 'price_');
      const product = fromPrefixed<Product>(productColumns, row, 'product_');
      prices.set(price.priceId, { price, product, isForSale: row.is_for_sale === true });
    }
    if (row.rate_shippingRateId !== null) {
      const rate = fromPrefixed<ShippingRate>(shippingRateColumns, row, 'rate_');
      rates.set(rate.shippingRateId, rate);
    }
  }
  return carts.map(({ priceIds: own, ownIds, shippingRateId }) => ({
    prices: new Map(
      own.flatMap((id) => {
        const found = prices.get(id);
        return found !== undefined && (found.isForSale || ownIds.includes(id)) ? [[id, found] as const] : [];
      }),
    ),
    shippingRate: rates.get(shippingRateId ?? ''),
  }));
}

/**
 * The price ids that a product stands for as a line: those of its active prices that the partner made, and where there is none, of those
 * that carts made. Two are enough to know that there is not exactly one.
 */
export async function findPricesForProducts(
  db: Db,
  scope: Scope,
  productIds: readonly string[],
): Promise<ReadonlyMap<string, readonly string[]>> {
  const rows = await db.rows(findForProducts, scope, [productIds]);
  return new Map(rows.map(({ productId, own, inline }) => [productId, own.length > 0 ? own : inline]));
}

type CartRow = { readonly [column: string]: unknown };

const find = scoped<CartRow>(
  'carts.find',
  `select ${selectList(priceColumns, 'p', 'price_')}, r.eligibility_key as "price_productEligibilityKey",
     ${selectList(productColumns, 'r', 'product_')}, ${selectList(shippingRateColumns, 's', 'rate_')}, p.active and r.active as is_for_sale
   from unnest($3::text[], $5::text[]) wanted (price_id, rate_id)
   left join prices p on p.account_id = $1 and p.test_mode = $2 and p.price_id = wanted.price_id collate "C"
     and (p.active or p.price_id = any($4::text[]))
   left join products r on r.account_id = $1 and r.test_mode = $2 and r.product_id = p.product_id
   left join shipping_rates s on s.account_id = $1 and s.test_mode = $2 and s.shipping_rate_id = wanted.rate_id collate "C" and s.active`,
);

// The product's row says whether the product is for sale: the prices of one that has just come back may still be hidden in lists. The order is that of
// the index of active prices, which has those of the partner before those of carts, of which each cart can make one. By the ids alone, the planner
// can walk all prices of the product.
const findForProducts = scoped<{ productId: string; own: string[]; inline: string[] }>(
  'carts.find_for_products',
  `select r.product_id as "productId", coalesce(found.own, '{}') as own, coalesce(found.inline, '{}') as inline
   from unnest($3::text[]) wanted (product_id)
   join products r on r.account_id = $1 and r.test_mode = $2 and r.product_id = wanted.product_id collate "C" and r.active
   cross join lateral (
     select array_agg(first.price_id) filter (where not first.inline) as own, array_agg(first.price_id) filter (where first.inline) as inline
     from (select p.price_id, p.inline from prices p
       where p.account_id = $1 and p.test_mode = $2 and p.product_id = wanted.product_id collate "C" and p.active
       order by p.inline, p.price_id limit 2) first offset 0) found`,
);
