import { Failure } from '@eligo/failures';
import { type Scope, withTx } from '@eligo/postgres';
import type { Customer } from '../domain/customer.ts';
import type { Resources } from '../resources.ts';
import { noteProcessorCustomer } from '../store/customers.ts';
import { refusalOf } from './processor-refusal.ts';

/**
 * The processor's customer for one of ours, made when it is first needed. The key is the customer's id, so that a lost answer or a second call
 * makes no second one. No name or address is sent: the processor needs none.
 */
export async function ensureProcessorCustomer(
  { database, processors }: Pick<Resources, 'database' | 'processors'>,
  scope: Scope,
  customer: Customer,
): Promise<string> {
  if (customer.processorCustomerId !== null) return customer.processorCustomerId;
  const made = await processors
    .of(scope)
    .createCustomer({ metadata: { customer: customer.id } }, { idempotencyKey: `${customer.id}:create` });
  if (made.kind !== 'found') throw refusalOf(made, () => new Failure('internal'));
  return withTx(database, scope, (tx) => noteProcessorCustomer(tx, scope, customer.id, made.customerId));
}
