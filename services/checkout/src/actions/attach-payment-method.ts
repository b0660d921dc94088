import { Failure } from '@eligo/failures';
import { type Scope, type Tx, withTx } from '@eligo/postgres';
import type { ProcessorPort } from '@eligo/processor';
import { isId } from '@eligo/values';
import type { Context } from '../context.ts';
import { accountToCharge } from '../domain/card-account.ts';
import { isConfirmationToken, type PaymentMethod } from '../domain/payment-method.ts';
import { findCustomer } from '../store/customers.ts';
import { findPaymentMethod, lockPaymentMethod, savePaymentMethodOwner } from '../store/payment-methods.ts';
import { timeOnClock } from '../store/test-clocks.ts';
import { ensureProcessorCustomer } from './processor-customer.ts';
import { refusalOf } from './processor-refusal.ts';
import { retryPastStored500 } from './retry-past-stored-500.ts';

type Needs = Pick<Context, 'database' | 'clock' | 'processors' | 'failpoint'>;

/** Attaches a payment method to a customer; to the one that has it already, it changes nothing. */
export async function attachPaymentMethod(
  context: Needs,
  scope: Scope,
  id: string,
  customerId: string,
): Promise<PaymentMethod> {
  const method = await existing(context, scope, id);
  const customer = await findCustomer(context.database, scope, customerId);
  if (customer === undefined) {
    const text = isId('customer', customerId) ? `customer_not_found: ${customerId}` : 'customer_not_found';
    throw Failure.invalid(['body', 'payment_method', 'customer'], 'customer_not_found', text);
  }
  if (method.customerId === customerId) return method;
  if (method.customerId !== null) throw new Failure('payment_method_in_use');
  if (method.detachedAt !== null) throw detachedBefore();
  if (isConfirmationToken(method.processorPaymentMethodId)) throw neverConfirmed();
  const processor = context.processors.of(scope);
  accountToCharge(method, processor.account);
  const processorCustomerId = await ensureProcessorCustomer(context, scope, customer);
  // A method is attached once in its life: the processor takes no detached one back.
  const attached = await retryPastStored500(`${id}:attach:${customerId}`, (idempotencyKey) =>
    processor.attachPaymentMethod(method.processorPaymentMethodId, processorCustomerId, { idempotencyKey }),
  );
  if (attached.kind !== 'found' && !(await belongsTo(processor, method, processorCustomerId))) {
    throw refusalOf(attached, () => new Failure('payment_method_in_use'));
  }
  return withTx(context.database, scope, async (tx) => {
    const locked = await lockExisting(tx, scope, id);
    if (locked.customerId === customerId) return locked;
    if (locked.customerId !== null) throw new Failure('payment_method_in_use');
    return savePaymentMethodOwner(tx, scope, locked, { customerId, processorCustomerId, detachedAt: null });
  });
}

/** Takes a payment method from its customer, for good; one that has none stays as it is. */
export async function detachPaymentMethod(context: Needs, scope: Scope, id: string): Promise<PaymentMethod> {
  const method = await existing(context, scope, id);
  if (method.customerId === null) return method;
  const processor = context.processors.at(scope, method.processorAccount);
  const detached = await retryPastStored500(`${id}:detach`, (idempotencyKey) =>
    processor.detachPaymentMethod(method.processorPaymentMethodId, { idempotencyKey }),
  );
  if (detached.kind !== 'found' && !(await belongsTo(processor, method, undefined))) {
    throw refusalOf(detached, () => new Failure('conflict'));
  }
  return withTx(context.database, scope, async (tx) => {
    const locked = await lockExisting(tx, scope, id);
    if (locked.customerId === null) return locked;
    const detachedAt = await timeOnClock(tx, scope, context.clock, null);
    return savePaymentMethodOwner(tx, scope, locked, { customerId: null, processorCustomerId: null, detachedAt });
  });
}

// An earlier call whose answer was lost, or an error after it was done, may have done it already: the record itself says so.
async function belongsTo(
  processor: ProcessorPort,
  method: PaymentMethod,
  processorCustomerId: string | undefined,
): Promise<boolean> {
  const known = await processor.retrievePaymentMethod(method.processorPaymentMethodId);
  return known.kind === 'found' && known.customerId === processorCustomerId;
}

async function existing({ database }: Needs, scope: Scope, id: string): Promise<PaymentMethod> {
  const method = await findPaymentMethod(database, scope, id);
  if (method === undefined) throw new Failure('payment_method_not_found');
  return method;
}

async function lockExisting(tx: Tx, scope: Scope, id: string): Promise<PaymentMethod> {
  const method = await lockPaymentMethod(tx, scope, id);
  if (method === undefined) throw new Failure('payment_method_not_found');
  return method;
}

function neverConfirmed(): Failure {
  return new Failure('conflict', {
    detail: 'This card was typed on a checkout page and has paid nothing. Use another card.',
  });
}

function detachedBefore(): Failure {
  return new Failure('conflict', { detail: 'A detached payment method cannot be used again.' });
}
