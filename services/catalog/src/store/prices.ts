import { type Db, type Scope, scoped, type Tx, unscoped } from '@eligo/postgres';
import type { EligibilityClass } from '../domain/eligibility-class.ts';
import type { MutablePriceFields, Price, PriceFields } from '../domain/price.ts';
import { selectList } from './columns.ts';
import { isPropagatingText } from './propagating-products.ts';

/** What is stored beside the fields of a new price. */
export interface NewPrice {
  readonly priceId: string;
  readonly product: {
    readonly productId: string;
    readonly active: boolean;
    readonly hsaFsaEligibility: EligibilityClass | null;
  };
  readonly pending: boolean;
  readonly inline: boolean;
  readonly at: Date;
}

export async function insertPrice(tx: Tx, scope: Scope, fields: PriceFields, made: NewPrice): Promise<Price> {
  const { recurring } = fields;
  const price = await tx.row(insert, scope, [
    made.priceId,
    made.product.productId,
    made.product.active,
    made.product.hsaFsaEligibility ?? '',
    fields.description,
    fields.unitAmountCents,
    recurring?.interval ?? null,
    recurring?.intervalCount ?? null,
    recurring?.trialPeriodDays ?? null,
    fields.active,
    made.pending,
    made.inline,
    fields.lookupKey,
    fields.hsaFsaEligibility,
    fields.metadata,
    made.at,
  ]);
  if (price === undefined) throw new Error('Inserting a price returned no row');
  return price;
}

export function findPrice(db: Db, scope: Scope, id: string): Promise<Price | undefined> {
  return db.row(find, scope, [id]);
}

/** The price, locked against every other change until the transaction ends. */
export function lockPrice(tx: Tx, scope: Scope, id: string): Promise<Price | undefined> {
  return tx.row(lock, scope, [id]);
}

/** The prices of these ids that are the caller's, in no order. */
export function findPrices(db: Db, scope: Scope, ids: readonly string[]): Promise<Price[]> {
  return db.rows(findMany, scope, [ids]);
}

export async function updatePrice(
  tx: Tx,
  scope: Scope,
  id: string,
  fields: MutablePriceFields,
  at: Date,
): Promise<void> {
  const { active, description, lookupKey, hsaFsaEligibility, metadata } = fields;
  await tx.execute(update, scope, [id, active, description, lookupKey, hsaFsaEligibility, metadata, at]);
}

/** Lets transactions that deal with one lookup key follow each other. Held until the transaction ends. */
export async function lockLookupKey(tx: Tx, scope: Scope, lookupKey: string): Promise<void> {
  await tx.execute(lockKey, scope, [lookupKey]);
}

/** Takes the key from the other price that holds it, if that is of this product or if any may lose it. */
export async function takeLookupKey(
  tx: Tx,
  scope: Scope,
  lookupKey: string,
  from: { readonly otherThan: string; readonly productId: string; readonly anyProduct: boolean; readonly at: Date },
): Promise<void> {
  await tx.execute(takeKey, scope, [lookupKey, from.otherThan, from.productId, from.anyProduct, from.at]);
}

/** Which of these accounts a price belongs to, in this mode. Asked by GetPrice alone, about the siblings of its caller. */
export async function findOwnerAmong(
  db: Db,
  scope: Scope,
  siblingAccountIds: readonly string[],
  id: string,
): Promise<string | undefined> {
  return (await db.row(findSibling, scope, [siblingAccountIds, scope.testMode, id]))?.accountId ?? undefined;
}

/** The columns of a price's own facts, by property. */
export const priceColumns = {
  priceId: 'price_id',
  accountId: 'account_id',
  productId: 'product_id',
  description: 'description',
  unitAmountCents: 'unit_amount_cents',
  recurringInterval: 'recurring_interval',
  recurringIntervalCount: 'recurring_interval_count',
  trialPeriodDays: 'trial_period_days',
  active: 'active',
  lookupKey: 'lookup_key',
  hsaFsaEligibility: 'hsa_fsa_eligibility',
  metadata: 'metadata',
  createdAt: 'created_at',
} as const;

/**
 * What is read of a price, as `r`. Its product's class is the copy that it has, unless a product of the account has changed and its prices follow
 * (migrations/0030): then the product is asked.
 */
export const priceSelectList = `${selectList(priceColumns, 'r')},
   case when ${isPropagatingText} then (select o.eligibility_key from products o
     where o.account_id = $1 and o.test_mode = $2 and o.product_id = r.product_id)
   else r.product_eligibility_key end as "productEligibilityKey"`;

const ofScope = 'r.account_id = $1 and r.test_mode = $2';

const insert = scoped<Price>(
  'prices.insert',
  `insert into prices as r (account_id, test_mode, price_id, product_id, product_active, product_eligibility_key, description,
     unit_amount_cents, recurring_interval, recurring_interval_count, trial_period_days, active, pending, inline, lookup_key,
     hsa_fsa_eligibility, metadata, created_at, updated_at)
   values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $18) returning ${selectList(priceColumns, 'r')},
     r.product_eligibility_key as "productEligibilityKey"`,
);
const find = scoped<Price>(
  'prices.find',
  `select ${priceSelectList} from prices r where ${ofScope} and r.price_id = $3`,
);
const lock = scoped<Price>(
  'prices.lock',
  `select ${priceSelectList} from prices r where ${ofScope} and r.price_id = $3 for update of r`,
);
const findMany = scoped<Price>(
  'prices.find_many',
  `select ${priceSelectList} from prices r where ${ofScope} and r.price_id = any($3::text[])`,
);
const update = scoped(
  'prices.update',
  `update prices r set active = $4, description = $5, lookup_key = $6, hsa_fsa_eligibility = $7, metadata = $8,
     pending = r.pending and not $4, updated_at = $9
   where ${ofScope} and r.price_id = $3`,
);
const lockKey = scoped(
  'prices.lock_lookup_key',
  "select pg_advisory_xact_lock(hashtextextended('catalog.lookup_key:' || $1::text || ':' || $2::boolean || ':' || $3::text, 0))",
);
const takeKey = scoped(
  'prices.take_lookup_key',
  `update prices r set lookup_key = null, updated_at = $7
   where ${ofScope} and r.lookup_key = $3 and r.price_id <> $4 and (r.product_id = $5 or $6::boolean)`,
);
const findSibling = unscoped<{ accountId: string | null }>(
  'prices.find_owner_among',
  'select find_sibling_price($1::text[], $2::boolean, $3::text) as "accountId"',
);
