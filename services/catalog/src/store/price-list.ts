import type { Db, Scope } from '@eligo/postgres';
import type { Metadata } from '../domain/field-rules.ts';
import type { Price } from '../domain/price.ts';
import { selectList } from './columns.ts';
import { type ListShape, type Page, type PageRequest, readPage, valuesBeforeFilters } from './page.ts';
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
 * Of two shapes. Filters by metadata alone walk the pairs' own index, which is in the list's order, and join further pairs on the way: ten
 * rows cost the same among ten thousand prices and a million. With a product or lookup keys the prices lead, for those are few.
 */
export function priceListShape(filter: PriceFilter): ListShape {
  const values: unknown[] = [filter.active ? 'active' : 'archived'];
  const parameter = (value: unknown) => `$${valuesBeforeFilters + values.push(value)}`;
  const pairs = Object.entries(filter.metadata);
  const isByPrice = filter.productId !== undefined || filter.lookupKeys.length > 0 || pairs.length === 0;
  const names = [isByPrice ? 'prices.list' : 'prices.list.pairs'];
  const leading = isByPrice ? 'r' : 'm0';
  let from = `from ${isByPrice ? 'prices r' : 'price_metadata m0'}`;
  let where = ` where ${leading}.account_id = $1 and ${leading}.test_mode = $2 and ${leading}.listing = $${valuesBeforeFilters + 1}`;

  if (filter.productId !== undefined) {
    names.push('product');
    where += ` and r.product_id = ${parameter(filter.productId)}`;
  }
  if (filter.lookupKeys.length > 0) {
    names.push('keys');
    where += ` and r.lookup_key = any(${parameter(filter.lookupKeys)}::text[])`;
  }
  for (const [index, [key, value]] of pairs.slice(0, joinedPairs).entries()) {
    names.push('pair');
    const pair = `m${index}`;
    const matches = `${pair}.key = ${parameter(key)} and ${pair}.value = ${parameter(value)}`;
    if (pair === leading) {
      where += ` and ${matches}`;
    } else {
      from +=
        ` join price_metadata ${pair} on ${pair}.account_id = $1 and ${pair}.test_mode = $2 and ${matches}` +
        ` and ${pair}.listing = $${valuesBeforeFilters + 1} and ${pair}.price_id = ${leading}.price_id`;
    }
  }
  if (pairs.length > joinedPairs) {
    names.push('more');
    const rest = pairs.slice(joinedPairs);
    const keys = parameter(rest.map(([key]) => key));
    const texts = parameter(rest.map(([, value]) => value));
    where +=
      ` and not exists (select from unnest(${keys}::text[], ${texts}::text[]) wanted (key, value) where not exists (` +
      'select from price_metadata o where o.account_id = $1 and o.test_mode = $2 and o.key = wanted.key collate "C"' +
      ` and o.value = wanted.value collate "C" and o.listing = $${valuesBeforeFilters + 1} and o.price_id = ${leading}.price_id))`;
  }
  return {
    name: names.join('.'),
    table: 'prices',
    id: 'price_id',
    columns: selectList(priceColumns, 'r'),
    from: from + where,
    orderBy: `${leading}.price_id`,
    values,
  };
}

// Pairs with a join of their own; more of them share one statement, so that the shapes that are kept prepared stay few.
const joinedPairs = 3;
