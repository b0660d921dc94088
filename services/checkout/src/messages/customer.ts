import { create } from '@bufbuild/protobuf';
import type { Scope } from '@eligo/postgres';
import { type Customer as CustomerMessage, CustomerSchema } from '@eligo/proto/checkout/v1/checkout';
import { present } from '@eligo/values';
import type { Customer } from '../domain/customer.ts';
import { addressMessage } from './address.ts';

/** The message of a customer. */
export function customerMessage(scope: Scope, customer: Customer): CustomerMessage {
  const { firstName, lastName, email, phone, employer, testClockId } = customer;
  return create(CustomerSchema, {
    customerId: customer.id,
    metadata: { ...customer.metadata },
    testMode: scope.testMode,
    createdAtMs: BigInt(customer.createdAt.getTime()),
    deleted: customer.deletedAt !== null,
    ...present({ firstName, lastName, email, phone, employer, testClockId }),
    ...(customer.shipping === null ? {} : { shipping: addressMessage(customer.shipping) }),
  });
}
