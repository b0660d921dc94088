import { withTx } from '@eligo/postgres';
import { newId } from '@eligo/values';
import type { Asker, Context } from '../context.ts';
import { checkAmount, type Metadata } from '../domain/field-rules.ts';
import type { ShippingRate } from '../domain/shipping-rate.ts';
import { insertShippingRate } from '../store/shipping-rates.ts';

export async function createShippingRate(
  { database, clock }: Context,
  { scope }: Asker,
  input: { readonly displayName: string; readonly amountCents: bigint; readonly metadata: Metadata },
): Promise<ShippingRate> {
  const rate: ShippingRate = {
    shippingRateId: newId('shipping_rate'),
    active: true,
    displayName: input.displayName,
    amountCents: checkAmount(input.amountCents, ['body', 'shipping_rate', 'amount']),
    metadata: input.metadata,
    createdAt: clock.now(),
  };
  await withTx(database, scope, (tx) => insertShippingRate(tx, scope, rate));
  return rate;
}
