import { append } from '@eligo/events';
import { Failure } from '@eligo/failures';
import { type Scope, type Tx, withTx } from '@eligo/postgres';
import { type Customer as CustomerMessage, CustomerSchema } from '@eligo/proto/checkout/v1/checkout';
import { newId } from '@eligo/values';
import type { Context } from '../context.ts';
import type { Address } from '../domain/address.ts';
import type { Customer } from '../domain/customer.ts';
import { customerMessage } from '../messages/customer.ts';
import { insertCustomer } from '../store/customers.ts';
import { findTestClock } from '../store/test-clocks.ts';
import { onceUnderKey } from './once-under-key.ts';

export interface NewCustomer {
  readonly firstName: string | null;
  readonly lastName: string | null;
  readonly email: string | null;
  readonly phone: string | null;
  readonly employer: string | null;
  readonly shipping: Address | null;
  readonly metadata: Readonly<Record<string, string>>;
  readonly testClockId: string | null;
}

/** Creates a customer; the same key and body answers what the first one was answered (decisions 1.1). */
export async function createCustomer(
  { database, clock }: Pick<Context, 'database' | 'clock'>,
  scope: Scope,
  input: NewCustomer,
  key?: { readonly key: string; readonly requestHash: Uint8Array } | undefined,
): Promise<CustomerMessage> {
  const request = { endpoint: 'POST /v1/customers', key, schema: CustomerSchema };
  return withTx(database, scope, (tx) =>
    onceUnderKey(tx, scope, request, () => makeCustomer(tx, scope, input, clock.now())),
  );
}

/** The customer and the event that tells of it, within a transaction. */
export async function makeCustomer(tx: Tx, scope: Scope, input: NewCustomer, now: Date): Promise<CustomerMessage> {
  const createdAt = input.testClockId === null ? now : await timeOfClock(tx, scope, input.testClockId);
  const customer: Customer = {
    ...input,
    id: newId('customer'),
    shipping: input.shipping && { ...input.shipping, shippingAddressId: newId('shipping_address') },
    createdAt,
    updatedAt: createdAt,
    deletedAt: null,
    processorCustomerId: null,
    processorAccount: null,
    version: 1n,
  };
  await insertCustomer(tx, scope, customer);
  const message = customerMessage(scope, customer);
  await append(tx, {
    type: 'customer.created',
    aggregateId: customer.id,
    ...scope,
    at: createdAt,
    object: { case: 'customer', value: message },
  });
  return message;
}

async function timeOfClock(tx: Tx, scope: Scope, testClockId: string): Promise<Date> {
  const time = scope.testMode ? await findTestClock(tx, scope, testClockId) : undefined;
  if (time === undefined) {
    throw Failure.invalid(
      ['body', 'customer', 'test_clock'],
      'test_clock_not_found',
      `test_clock_not_found: ${testClockId}`,
    );
  }
  return time;
}
