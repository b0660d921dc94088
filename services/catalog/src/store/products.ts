import { type Db, type Scope, scoped, type Tx } from '@eligo/postgres';
import type { Metadata } from '../domain/field-rules.ts';
import type { Product, ProductFields } from '../domain/product.ts';
import { selectList } from './columns.ts';
import { type ListShape, type Page, type PageRequest, readPage, valuesBeforeFilters } from './page.ts';
import { byPairs, hasAllPairs, pairArrays, splitPairs } from './pair-candidates.ts';

/** Adds a product; a pending one is in no list and not for sale until its session commits. */
export async function insertProduct(tx: Tx, scope: Scope, product: Product, pending: boolean): Promise<void> {
  await tx.execute(insert, scope, [product.productId, ...fieldValues(product), pending, product.createdAt]);
}

export function findProduct(db: Db, scope: Scope, id: string): Promise<Product | undefined> {
  return db.row(find, scope, [id]);
}

/** The product, locked against every other change until the transaction ends. */
export function lockProduct(tx: Tx, scope: Scope, id: string): Promise<Product | undefined> {
  return tx.row(lock, scope, [id]);
}

/** The product, held as it is until the transaction ends: its prices can copy its state. */
export function holdProduct(tx: Tx, scope: Scope, id: string): Promise<Product | undefined> {
  return tx.row(hold, scope, [id]);
}

/** The products of these ids that are the caller's, in no order. */
export function findProducts(db: Db, scope: Scope, ids: readonly string[]): Promise<Product[]> {
  return db.rows(findMany, scope, [ids]);
}

export async function updateProduct(tx: Tx, scope: Scope, id: string, fields: ProductFields, at: Date): Promise<void> {
  await tx.execute(update, scope, [id, ...fieldValues(fields), at]);
}

/** What a list of products is filtered by. */
export interface ProductFilter {
  readonly active: boolean | undefined;
  readonly clientReferenceId: string | undefined;
  readonly metadata: Metadata;
}

export function listProducts(db: Db, scope: Scope, page: PageRequest, filter: ProductFilter): Promise<Page<Product>> {
  const shape = productListShape(filter);
  return readPage(db, scope, page, shape);
}

/** The columns of a product, by property. */
export const productColumns = {
  productId: 'product_id',
  name: 'name',
  description: 'description',
  upcCode: 'upc_code',
  gtin: 'gtin',
  referenceGtin: 'reference_gtin',
  url: 'url',
  clientReferenceId: 'client_reference_id',
  imageUrls: 'image_urls',
  categories: 'categories',
  componentIds: 'component_ids',
  hsaFsaEligibility: 'hsa_fsa_eligibility',
  visitType: 'visit_type',
  active: 'active',
  metadata: 'metadata',
  createdAt: 'created_at',
  updatedAt: 'updated_at',
} as const;

const columns = selectList(productColumns, 'r');

function fieldValues(fields: ProductFields): unknown[] {
  return [
    fields.name,
    fields.description,
    fields.upcCode,
    fields.gtin,
    fields.referenceGtin,
    fields.url,
    fields.clientReferenceId,
    fields.imageUrls,
    fields.categories,
    fields.componentIds,
    fields.hsaFsaEligibility,
    fields.visitType,
    fields.active,
    fields.metadata,
  ];
}

const ofScope = 'r.account_id = $1 and r.test_mode = $2';

const insert = scoped(
  'products.insert',
  `insert into products (account_id, test_mode, product_id, name, description, upc_code, gtin, reference_gtin, url, client_reference_id,
     image_urls, categories, component_ids, hsa_fsa_eligibility, visit_type, active, metadata, pending, created_at, updated_at)
   values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $19)`,
);
const find = scoped<Product>(
  'products.find',
  `select ${columns} from products r where ${ofScope} and r.product_id = $3`,
);
const lock = scoped<Product>(
  'products.lock',
  `select ${columns} from products r where ${ofScope} and r.product_id = $3 for update`,
);
const hold = scoped<Product>(
  'products.hold',
  `select ${columns} from products r where ${ofScope} and r.product_id = $3 for share`,
);
const findMany = scoped<Product>(
  'products.find_many',
  `select ${columns} from products r where ${ofScope} and r.product_id = any($3::text[])`,
);
const update = scoped(
  'products.update',
  `update products r set name = $4, description = $5, upc_code = $6, gtin = $7, reference_gtin = $8, url = $9, client_reference_id = $10,
     image_urls = $11, categories = $12, component_ids = $13, hsa_fsa_eligibility = $14, visit_type = $15, active = $16, metadata = $17,
     pending = r.pending and not $16, updated_at = $18
   where ${ofScope} and r.product_id = $3`,
);

function productListShape({ active, clientReferenceId, metadata }: ProductFilter): ListShape {
  const values: unknown[] = [];
  const parameter = (value: unknown) => `$${valuesBeforeFilters + values.push(value)}`;
  const names = ['products.list'];
  const conditions = ['not r.pending'];
  const state = active === undefined ? 'null' : parameter(active);
  if (active !== undefined) {
    names.push('active');
    conditions.push(`r.active = ${state}`);
  }
  if (clientReferenceId !== undefined) {
    names.push('reference');
    conditions.push(`r.client_reference_id = ${parameter(clientReferenceId)}`);
  }
  const list = { table: 'products', id: 'product_id', columns, values };
  const given = Object.entries(metadata);
  // Few products have a reference, so they lead; else the pairs do, whose index is in the list's order.
  if (given.length === 0 || clientReferenceId !== undefined) {
    if (given.length > 0) {
      names.push('pairs');
      conditions.push(hasAllPairs('product_metadata', 'product_id', pairArrays(given, parameter))('r.product_id'));
    }
    return { ...list, name: names.join('.'), where: conditions.join(' and ') };
  }
  const { joined, rest } = splitPairs(given);
  const pairs = joined.map(([key, value]) => ({ key: parameter(key), value: parameter(value) }));
  names.push(String(joined.length), ...(rest.length === 0 ? [] : ['more']));
  const on = (row: string) => `not ${row}.pending${active === undefined ? '' : ` and ${row}.active = ${state}`}`;
  const filter = {
    ...{ table: 'product_metadata', id: 'product_id', pairs },
    ...(rest.length === 0 ? {} : { rest: pairArrays(rest, parameter) }),
    own: { table: 'products', on, isNarrow: false },
    finder: { name: 'find_products_by_pairs', besides: state },
  };
  return { ...list, name: names.join('.'), ...byPairs(filter) };
}
