import { type Db, type Scope, scoped, type Tx } from '@eligo/postgres';
import type { Metadata } from '../domain/field-rules.ts';
import type { ShippingRate } from '../domain/shipping-rate.ts';
import { selectList } from './columns.ts';
import { type Page, type PageRequest, readPage } from './page.ts';

export async function insertShippingRate(tx: Tx, scope: Scope, rate: ShippingRate): Promise<void> {
  const { shippingRateId, active, displayName, amountCents, metadata, createdAt } = rate;
  await tx.execute(insert, scope, [shippingRateId, active, displayName, amountCents, metadata, createdAt]);
}

export function findShippingRate(db: Db, scope: Scope, id: string): Promise<ShippingRate | undefined> {
  return db.row(find, scope, [id]);
}

/** The rate after the update, or undefined when there is none. `active` null leaves it as it is; metadata is overwritten. */
export function updateShippingRate(
  tx: Tx,
  scope: Scope,
  id: string,
  active: boolean | null,
  metadata: Metadata,
): Promise<ShippingRate | undefined> {
  return tx.row(update, scope, [id, active, metadata]);
}

export function listShippingRates(
  db: Db,
  scope: Scope,
  page: PageRequest,
  active: boolean | undefined,
): Promise<Page<ShippingRate>> {
  return readPage(db, scope, page, {
    name: active === undefined ? 'shipping_rates.list' : 'shipping_rates.list.active',
    table: 'shipping_rates',
    id: 'shipping_rate_id',
    columns,
    where: active === undefined ? 'true' : 'r.active = $6',
    values: active === undefined ? [] : [active],
  });
}

/** The columns of a rate, by property. */
export const shippingRateColumns = {
  shippingRateId: 'shipping_rate_id',
  active: 'active',
  displayName: 'display_name',
  amountCents: 'amount_cents',
  metadata: 'metadata',
  createdAt: 'created_at',
} as const;

const columns = selectList(shippingRateColumns, 'r');

const insert = scoped(
  'shipping_rates.insert',
  `insert into shipping_rates (account_id, test_mode, shipping_rate_id, active, display_name, amount_cents, metadata, created_at)
   values ($1, $2, $3, $4, $5, $6, $7, $8)`,
);
const find = scoped<ShippingRate>(
  'shipping_rates.find',
  `select ${columns} from shipping_rates r where r.account_id = $1 and r.test_mode = $2 and r.shipping_rate_id = $3`,
);
const update = scoped<ShippingRate>(
  'shipping_rates.update',
  `update shipping_rates r set active = coalesce($4, r.active), metadata = $5
   where r.account_id = $1 and r.test_mode = $2 and r.shipping_rate_id = $3 returning ${columns}`,
);
