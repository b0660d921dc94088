import type { Price, Recurring } from '@eligo/proto/catalog/v1/catalog';
import { centsFromInt64 } from '@eligo/values';
import { z } from 'zod';
import { type Expansion, expandable, expandsTo, noExpansion, type References } from '../expansion.ts';
import { answer, eligibilityClass, idOf } from '../fields.ts';
import { isoTime } from '../times.ts';
import { eligibilityClassOf, renderProduct } from './product.ts';

const recurringSchema = z.strictObject({
  interval: z.string(),
  interval_count: z.int(),
  trial_period_days: z.int().nullable(),
});

export const priceSchema = expandsTo(
  'price',
  z.strictObject({
    price_id: idOf('price'),
    owner_partner_id: idOf('account'),
    description: answer.text,
    trial_period_days: z.int().nullable(),
    unit_amount: answer.cents,
    recurring: recurringSchema.nullable(),
    active: z.boolean(),
    product: expandable('product'),
    created_at: answer.time,
    type: z.enum(['one_time', 'recurring']),
    metadata: answer.metadata,
    lookup_key: answer.text,
    hsa_fsa_eligibility: eligibilityClass.nullable(),
    test_mode: z.boolean(),
  }),
);

/** A price that already carries its product (a single read across an organization does) needs no further call. */
export const priceReferences: References<Price> = {
  product: { kind: 'product', ids: (price) => [price.product === undefined ? price.productId : undefined] },
};

export function renderPrice(price: Price, expansion: Expansion = noExpansion): z.infer<typeof priceSchema> {
  const { recurring } = price;
  return {
    price_id: price.priceId,
    owner_partner_id: price.ownerPartnerId,
    description: price.description ?? null,
    trial_period_days: recurring?.trialPeriodDays ?? null,
    unit_amount: centsFromInt64(price.unitAmountCents),
    recurring: recurring === undefined ? null : renderRecurring(recurring),
    active: price.active,
    product:
      price.product !== undefined && expansion.has('product')
        ? renderProduct(price.product)
        : expansion.of('product', price.productId),
    created_at: isoTime(price.createdAtMs),
    type: recurring === undefined ? 'one_time' : 'recurring',
    metadata: price.metadata,
    lookup_key: price.lookupKey ?? null,
    hsa_fsa_eligibility: eligibilityClassOf(price.hsaFsaEligibility),
    test_mode: price.testMode,
  };
}

function renderRecurring(recurring: Recurring): z.infer<typeof recurringSchema> {
  return {
    interval: recurring.interval,
    interval_count: recurring.intervalCount,
    trial_period_days: recurring.trialPeriodDays ?? null,
  };
}
