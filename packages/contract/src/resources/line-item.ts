import type { LineItem } from '@eligo/proto/checkout/v1/checkout';
import { centsFromInt64 } from '@eligo/values';
import { z } from 'zod';
import { type Expansion, expandable, noExpansion, type References } from '../expansion.ts';
import { answer, eligibilityClass, idOf } from '../fields.ts';
import { eligibilityClassOf } from './product.ts';

export const lineItemSchema = z.strictObject({
  line_item_id: idOf('line_item'),
  price: expandable('price'),
  quantity: z.int(),
  description: answer.text,
  amount_subtotal: answer.cents,
  amount_discount: answer.cents,
  amount_tax: answer.cents,
  amount_shipping: answer.cents,
  amount_fee: answer.cents,
  amount_total: answer.cents,
  eligibility: eligibilityClass.nullable(),
  amount_eligible: answer.cents,
});

export const lineItemReferences: References<LineItem> = {
  price: { kind: 'price', aliases: ['product'], ids: (line) => [line.priceId] },
};

export function renderLineItem(line: LineItem, expansion: Expansion = noExpansion): z.infer<typeof lineItemSchema> {
  return {
    line_item_id: line.lineItemId,
    price: expansion.of('price', line.priceId),
    quantity: Number(line.quantity),
    description: line.description ?? null,
    amount_subtotal: centsFromInt64(line.amountSubtotalCents),
    amount_discount: centsFromInt64(line.amountDiscountCents),
    amount_tax: centsFromInt64(line.amountTaxCents),
    amount_shipping: centsFromInt64(line.amountShippingCents),
    amount_fee: centsFromInt64(line.amountFeeCents),
    amount_total: centsFromInt64(line.amountTotalCents),
    eligibility: eligibilityClassOf(line.eligibility?.hsaFsaEligibility),
    amount_eligible: centsFromInt64(line.amountEligibleCents),
  };
}
