import { Failure } from '@eligo/failures';
import { withTx } from '@eligo/postgres';
import type { Asker, Context } from '../context.ts';
import type { Metadata } from '../domain/field-rules.ts';
import type { ShippingRate } from '../domain/shipping-rate.ts';
import { updateShippingRate as update } from '../store/shipping-rates.ts';

/** Archives or revives a rate and overwrites its metadata (interface, Shipping rate states). */
export async function updateShippingRate(
  { database }: Context,
  { scope }: Asker,
  id: string,
  change: { readonly active: boolean | undefined; readonly metadata: Metadata },
): Promise<ShippingRate> {
  const rate = await withTx(database, scope, (tx) => update(tx, scope, id, change.active ?? null, change.metadata));
  if (rate === undefined) throw new Failure('shipping_rate_not_found');
  return rate;
}
