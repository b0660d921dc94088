import type { Db, Scope } from '@eligo/postgres';
import type { Metadata } from '../domain/field-rules.ts';
import type { Price } from '../domain/price.ts';
import { selectList } from './columns.ts';
import { type ListShape, type Page, type PageRequest, readPage, valuesBeforeFilters } from './page.ts';
import { byPairs, hasAllPairs, type OwnFilter, pairArrays, splitPairs } from './pair-candidates.ts';
import { priceColumns } from './prices.ts';

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
  const conditions = [`r.listing = ${listing}`];
  const product = productId === undefined ? undefined : parameter(productId);
  if (product !== undefined) {
    names.push('product');
    conditions.push(`r.product_id = ${product}`);
  }
  if (lookupKeys.length > 0) {
    names.push('keys');
    conditions.push(`r.lookup_key = any(${parameter(lookupKeys)}::text[])`);
  }
  const list = { table: 'prices', id: 'price_id', columns: selectList(priceColumns, 'r'), values };
  const pairs = Object.entries(metadata);
  const onRow = (row: string) => `${row}.listing = ${listing}`;
  if (isByPrice) {
    if (pairs.length > 0) {
      names.push('pairs');
      conditions.push(hasAllPairs('price_metadata', 'price_id', pairArrays(pairs, parameter), onRow)('r.price_id'));
    }
    return { ...list, name: names.join('.'), where: conditions.join(' and ') };
  }
  const { joined, rest } = splitPairs(pairs);
  const besides = product === undefined ? listing : `${listing}, ${product}`;
  const filter = {
    table: 'price_metadata',
    id: 'price_id',
    pairs: joined.map(([key, value]) => ({ key: parameter(key), value: parameter(value) })),
    onRow,
    ...(rest.length === 0 ? {} : { rest: pairArrays(rest, parameter) }),
    ...(product === undefined ? {} : { own: ofProduct(product) }),
    finder: { name: product === undefined ? 'find_prices_by_pairs' : 'find_product_prices_by_pairs', besides },
  };
  names.push(String(joined.length), ...(rest.length === 0 ? [] : ['more']));
  return { ...list, name: names.join('.'), ...byPairs(filter) };
}

const listing = `$${valuesBeforeFilters + 1}`;

function ofProduct(product: string): OwnFilter {
  return {
    table: 'prices',
    on: (row) => `${row}.listing = ${listing} and ${row}.product_id = ${product}`,
    isNarrow: true,
  };
}
