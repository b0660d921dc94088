import { Failure } from '@eligo/failures';
import type { Db, Scope } from '@eligo/postgres';
import type { Session } from '../domain/session.ts';
import { findCustomer } from '../store/customers.ts';

/** Whether the customer of a session is still there, or it has none. No card is charged for a customer who was deleted, whosever the card is. */
export async function hasItsCustomer(
  db: Db,
  scope: Scope,
  { customerId }: Pick<Session, 'customerId'>,
): Promise<boolean> {
  return customerId === null || (await findCustomer(db, scope, customerId)) !== undefined;
}

/** Throws `customer_not_found` for a payment of a session whose customer was deleted, as a confirm does. */
export async function requireItsCustomer(db: Db, scope: Scope, session: Pick<Session, 'customerId'>): Promise<void> {
  if (!(await hasItsCustomer(db, scope, session))) throw new Failure('customer_not_found');
}
