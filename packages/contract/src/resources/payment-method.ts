import type { BillingDetails, Card, PaymentMethod } from '@eligo/proto/checkout/v1/checkout';
import { z } from 'zod';
import { type Expansion, expandable, expandsTo, noExpansion, type References } from '../expansion.ts';
import { answer, idOf } from '../fields.ts';
import { isoTime } from '../times.ts';
import { addressSchema, renderAddress } from './address.ts';

/** Who said whether a card is a health card: its processor, the operator's list of issuer ranges, the partner, or the shopper on the page. */
export const hsaFsaSources = ['processor', 'issuer_range', 'partner', 'shopper'] as const;

const cardSchema = z.strictObject({
  brand: z.string(),
  country: z.string(),
  exp_month: z.int(),
  exp_year: z.int(),
  funding: z.string(),
  last4: z.string(),
  hsa_fsa: z.boolean().nullable(),
  hsa_fsa_source: z.enum(hsaFsaSources).nullable(),
});

const billingDetailsSchema = z.strictObject({
  name: answer.text,
  email: answer.text,
  phone: answer.text,
  address: addressSchema.nullable(),
});

export const paymentMethodSchema = expandsTo(
  'payment_method',
  z.strictObject({
    payment_method_id: idOf('payment_method'),
    customer: expandable('customer').nullable(),
    type: z.string(),
    card: cardSchema.nullable(),
    billing_details: billingDetailsSchema.nullable(),
    off_session: z.boolean(),
    metadata: answer.metadata,
    test_mode: z.boolean(),
    created_at: answer.time,
  }),
);

export const paymentMethodReferences: References<PaymentMethod> = {
  customer: { kind: 'customer', ids: (method) => [method.customerId] },
};

export function renderPaymentMethod(
  method: PaymentMethod,
  expansion: Expansion = noExpansion,
): z.infer<typeof paymentMethodSchema> {
  return {
    payment_method_id: method.paymentMethodId,
    customer: expansion.of('customer', method.customerId),
    type: method.type,
    card: method.card === undefined ? null : renderCard(method.card),
    billing_details: method.billingDetails === undefined ? null : renderBillingDetails(method.billingDetails),
    off_session: method.offSession,
    metadata: method.metadata,
    test_mode: method.testMode,
    created_at: isoTime(method.createdAtMs),
  };
}

function renderCard(card: Card): z.infer<typeof cardSchema> {
  return {
    brand: card.brand,
    country: card.country,
    exp_month: card.expMonth,
    exp_year: card.expYear,
    funding: card.funding,
    last4: card.last4,
    hsa_fsa: card.hsaFsa ?? null,
    hsa_fsa_source: hsaFsaSources.find((source) => source === card.hsaFsaSource) ?? null,
  };
}

function renderBillingDetails(details: BillingDetails): z.infer<typeof billingDetailsSchema> {
  return {
    name: details.name ?? null,
    email: details.email ?? null,
    phone: details.phone ?? null,
    address: details.address === undefined ? null : renderAddress(details.address),
  };
}
