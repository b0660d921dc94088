import { append } from '@eligo/events';
import { Failure } from '@eligo/failures';
import { type Scope, withTx } from '@eligo/postgres';
import type { Context } from '../context.ts';
import type { Customer } from '../domain/customer.ts';
import { customerMessage } from '../messages/customer.ts';
import { lockCustomer, saveCustomer } from '../store/customers.ts';
import { timeOnClock } from '../store/test-clocks.ts';

/** Deletes a customer: its row stays for what refers to it, and no read finds it any more. */
export async function deleteCustomer(
  { database, clock }: Pick<Context, 'database' | 'clock'>,
  scope: Scope,
  id: string,
): Promise<Customer> {
  return withTx(database, scope, async (tx) => {
    const before = await lockCustomer(tx, scope, id);
    if (before === undefined) throw new Failure('customer_not_found');
    const deletedAt = await timeOnClock(tx, scope, clock, before.testClockId);
    const after = await saveCustomer(tx, scope, before, { ...before, updatedAt: deletedAt, deletedAt });
    await append(tx, {
      type: 'customer.deleted',
      aggregateId: id,
      ...scope,
      at: deletedAt,
      object: { case: 'customer', value: customerMessage(scope, after) },
    });
    return after;
  });
}
