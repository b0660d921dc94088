import type { Address } from '@eligo/proto/checkout/v1/checkout';
import { z } from 'zod';
import { answer } from '../fields.ts';

export const addressSchema = z.strictObject({
  line1: answer.text,
  line2: answer.text,
  city: answer.text,
  state: answer.text,
  postal_code: answer.text,
  country: answer.text,
});

export const shippingAddressSchema = z.strictObject({ shipping_address_id: answer.text, ...addressSchema.shape });

export function renderAddress(address: Address): z.infer<typeof addressSchema> {
  return {
    line1: address.line1 ?? null,
    line2: address.line2 ?? null,
    city: address.city ?? null,
    state: address.state ?? null,
    postal_code: address.postalCode ?? null,
    country: address.country ?? null,
  };
}

export function renderShippingAddress(address: Address): z.infer<typeof shippingAddressSchema> {
  return { shipping_address_id: address.shippingAddressId ?? null, ...renderAddress(address) };
}
