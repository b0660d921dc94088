import { setTimeout as pause } from 'node:timers/promises';
import { Failure } from '@eligo/failures';
import { type Scope, withTx } from '@eligo/postgres';
import { isSameAccount } from '@eligo/values';
import type { Context } from '../context.ts';
import type { Customer } from '../domain/customer.ts';
import { noteProcessorCustomer } from '../store/customers.ts';
import { refusalOf } from './processor-refusal.ts';
import { retryPastStored500 } from './retry-past-stored-500.ts';

// Another call of ours makes the same customer at this moment: its answer is there within the time of one call.
const MOST_TRIES = 20;
const PAUSE_MS = 50;

/**
 * The processor's customer for one of ours at the account of new money, made when it is first needed there. The key is the customer's id, so that a lost answer or a second call
 * makes no second one. No name or address is sent: the processor needs none.
 */
export async function ensureProcessorCustomer(
  { database, processors, failpoint }: Pick<Context, 'database' | 'processors' | 'failpoint'>,
  scope: Scope,
  customer: Customer,
): Promise<string> {
  const processor = processors.of(scope);
  const { processorCustomerId, processorAccount } = customer;
  const isHere = processorAccount === null || isSameAccount(processorAccount, processor.account);
  if (processorCustomerId !== null && isHere) return processorCustomerId;
  const create = () =>
    retryPastStored500(`${customer.id}:create`, (idempotencyKey) =>
      processor.createCustomer({ metadata: { customer: customer.id } }, { idempotencyKey }),
    );
  let made = await create();
  for (let tries = 1; made.kind === 'unknown' && made.reason === 'in_progress' && tries < MOST_TRIES; tries++) {
    await pause(PAUSE_MS * (0.5 + Math.random()));
    made = await create();
  }
  if (made.kind !== 'found') throw refusalOf(made, () => new Failure('internal'));
  const { customerId } = made;
  await failpoint('customer.made');
  return withTx(database, scope, (tx) => noteProcessorCustomer(tx, scope, customer.id, customerId, processor.account));
}
