import type { Db, Scope } from '@eligo/postgres';
import type { Metadata } from '../domain/field-rules.ts';
import type { Price } from '../domain/price.ts';
import { type ListShape, type Page, type PageRequest, readPage, valuesBeforeFilters } from './page.ts';
import type { Cut } from './page-cut.ts';
import { byPairs, hasAllPairs, type OwnFilter, pairArrays, splitPairs } from './pair-candidates.ts';
import { priceSelectList } from './prices.ts';
import { isPropagatingText } from './propagating-products.ts';
import { sievedIds } from './sieved-page.ts';

/** What a list of prices is filtered by (interface, List rules for GET /v1/prices). */
export interface PriceFilter {
  /** Active prices by default, archived ones when false. */
  readonly active: boolean;
  readonly productId: string | undefined;
  readonly lookupKeys: readonly string[];
  readonly metadata: Metadata;
}

export function listPrices(db: Db, scope: Scope, page: PageRequest, filter: PriceFilter): Promise<Page<Price>> {
  return readPage(db, scope, page, priceListShape(filter));
}

/**
 * Of two shapes: by metadata the pairs lead, whose index is in the list's order, so that ten rows cost the same among ten thousand
 * prices and a million; with a product its newest prices lead. With lookup keys the prices lead, for those are few.
 */
function priceListShape({ active, productId, lookupKeys, metadata }: PriceFilter): ListShape {
  const values: unknown[] = [active ? 'active' : 'archived'];
  const parameter = (value: unknown) => `$${valuesBeforeFilters + values.push(value)}`;
  const isByPrice = lookupKeys.length > 0 || Object.keys(metadata).length === 0;
  const names = ['prices.list'];
  const product = productId === undefined ? undefined : parameter(productId);
  // Asked once, so that the prices of an archived product are not walked while they are still listed.
  const sieve = {
    on: product === undefined ? isOfProductForSale : () => isForSale(product),
    inUseText: isPropagatingText,
  };
  const conditions = [`r.listing = ${listing}`, sieve.on('r.price_id')];
  if (product !== undefined) {
    names.push('product');
    conditions.push(`r.product_id = ${product}`);
  }
  if (lookupKeys.length > 0) {
    names.push('keys');
    conditions.push(`r.lookup_key = any(${parameter(lookupKeys)}::text[])`);
  }
  const list = { table: 'prices', id: 'price_id', columns: priceSelectList, values };
  const pairs = Object.entries(metadata);
  const onRow = (row: string) => `${row}.listing = ${listing}`;
  if (isByPrice) {
    if (pairs.length > 0) {
      names.push('pairs');
      conditions.push(hasAllPairs('price_metadata', 'price_id', pairArrays(pairs, parameter), onRow)('r.price_id'));
    }
    const name = names.join('.');
    if (product !== undefined || lookupKeys.length > 0) return { ...list, name, where: conditions.join(' and ') };
    const all = { ...sieve, ids: listedIds };
    return { ...list, name, where: (cut) => sievedIds(all, cut), sieve: all };
  }
  const { joined, rest } = splitPairs(pairs);
  const besides = product === undefined ? listing : `${listing}, ${product}`;
  const filter = {
    table: 'price_metadata',
    id: 'price_id',
    pairs: joined.map(([key, value]) => ({ key: parameter(key), value: parameter(value) })),
    onRow,
    sieve,
    ...(rest.length === 0 ? {} : { rest: pairArrays(rest, parameter) }),
    ...(product === undefined ? {} : { own: ofProduct(product) }),
    finder: { name: product === undefined ? 'find_prices_by_pairs' : 'find_product_prices_by_pairs', besides },
  };
  names.push(String(joined.length), ...(rest.length === 0 ? [] : ['more']));
  return { ...list, name: names.join('.'), ...byPairs(filter) };
}

const listing = `$${valuesBeforeFilters + 1}`;

/**
 * The condition that the product of a price is for sale, by the price's id alone, so that the index of the list is enough. While no product of the
 * account propagates, the listing says so.
 */
function isOfProductForSale(id: string): string {
  return `(not ${isPropagatingText} or exists (
    select from prices p join products o on o.account_id = $1 and o.test_mode = $2 and o.product_id = p.product_id and o.active
    where p.account_id = $1 and p.test_mode = $2 and p.price_id = ${id} offset 0))`;
}

function listedIds({ beyond, order }: Cut, end: string): string {
  return `select r.price_id as id from prices r
    where r.account_id = $1 and r.test_mode = $2 and r.listing = ${listing} and ${beyond('r.price_id')} order by r.price_id ${order} ${end}`;
}

function isForSale(product: string): string {
  return `exists (select from products o where o.account_id = $1 and o.test_mode = $2 and o.product_id = ${product} and o.active)`;
}

function ofProduct(product: string): OwnFilter {
  return {
    table: 'prices',
    on: (row) => `${row}.listing = ${listing} and ${row}.product_id = ${product}`,
    isNarrow: true,
  };
}
