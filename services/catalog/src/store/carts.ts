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
  readonly prices: ReadonlyMap<string, { readonly price: Price; readonly product: Product }>;
  readonly shippingRate: ShippingRate | undefined;
}

/**
 * The prices with their products, and the shipping rate, in one round trip: this is on the way of every session's creation. An archived
 * record counts as none; `ownIds` are the session's own inline prices, which need not be for sale yet.
 */
export async function findCartRecords(
  db: Db,
  scope: Scope,
  wanted: {
    readonly priceIds: readonly string[];
    readonly ownIds: readonly string[];
    readonly shippingRateId: string | undefined;
  },
): Promise<CartRecords> {
  const rows = await db.rows(find, scope, [wanted.priceIds, wanted.ownIds, wanted.shippingRateId ?? null]);
  const prices = new Map<string, { price: Price; product: Product }>();
  for (const row of rows) {
    if (row.price_priceId === null) continue;
    const price = fromPrefixed<Price>(priceColumns, row, 'price_');
    prices.set(price.priceId, { price, product: fromPrefixed<Product>(productColumns, row, 'product_') });
  }
  const first = rows[0];
  const hasRate = first !== undefined && first.rate_shippingRateId !== null;
  return {
    prices,
    shippingRate: hasRate ? fromPrefixed<ShippingRate>(shippingRateColumns, first, 'rate_') : undefined,
  };
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
  `select ${selectList(priceColumns, 'p', 'price_')}, ${selectList(productColumns, 'r', 'product_')},
     ${selectList(shippingRateColumns, 's', 'rate_')}
   from unnest($3::text[]) wanted (price_id)
   left join prices p on p.account_id = $1 and p.test_mode = $2 and p.price_id = wanted.price_id collate "C"
     and (p.listing = 'active' or p.price_id = any($4::text[]))
   left join products r on r.account_id = $1 and r.test_mode = $2 and r.product_id = p.product_id
   left join shipping_rates s on s.account_id = $1 and s.test_mode = $2 and s.shipping_rate_id = $5 and s.active`,
);

const activePricesOf = (inline: boolean) =>
  `array(select p.price_id from prices p where p.account_id = $1 and p.test_mode = $2 and p.product_id = wanted.product_id collate "C"
     and p.listing = 'active' and p.inline = ${inline} limit 2)`;
const findForProducts = scoped<{ productId: string; own: string[]; inline: string[] }>(
  'carts.find_for_products',
  `select r.product_id as "productId", ${activePricesOf(false)} as own, ${activePricesOf(true)} as inline
   from unnest($3::text[]) wanted (product_id)
   join products r on r.account_id = $1 and r.test_mode = $2 and r.product_id = wanted.product_id collate "C" and r.active`,
);
