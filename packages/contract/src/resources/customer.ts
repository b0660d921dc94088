import type { Customer } from '@eligo/proto/checkout/v1/checkout';
import { z } from 'zod';
import { expandsTo } from '../expansion.ts';
import { answer, idOf } from '../fields.ts';
import { isoTime } from '../times.ts';
import { renderShippingAddress, shippingAddressSchema } from './address.ts';

export const customerSchema = expandsTo(
  'customer',
  z.strictObject({
    customer_id: idOf('customer'),
    first_name: answer.text,
    last_name: answer.text,
    email: answer.text,
    phone: answer.text,
    employer: answer.text,
    shipping: shippingAddressSchema.nullable(),
    metadata: answer.metadata,
    test_mode: z.boolean(),
    created_at: answer.time,
    deleted: z.literal(true).optional(),
  }),
);

export function renderCustomer(customer: Customer): z.infer<typeof customerSchema> {
  return {
    customer_id: customer.customerId,
    first_name: customer.firstName ?? null,
    last_name: customer.lastName ?? null,
    email: customer.email ?? null,
    phone: customer.phone ?? null,
    employer: customer.employer ?? null,
    shipping: customer.shipping === undefined ? null : renderShippingAddress(customer.shipping),
    metadata: customer.metadata,
    test_mode: customer.testMode,
    created_at: isoTime(customer.createdAtMs),
    ...(customer.deleted ? { deleted: true as const } : {}),
  };
}
