import { Failure } from '@eligo/failures';
import type { Db, Scope } from '@eligo/postgres';
import type { Session } from '../domain/session.ts';
import { findCustomer } from '../store/customers.ts';

/** Whether the customer of a session or an attempt exists; also true where it has none. No card is charged for a deleted customer, whoever owns the card. */
export async function customerExists(
  db: Db,
  scope: Scope,
  { customerId }: Pick<Session, 'customerId'>,
): Promise<boolean> {
  return customerId === null || (await findCustomer(db, scope, customerId)) !== undefined;
}

/** Throws `customer_not_found` if the customer of a session is deleted. */
export async function requireCustomer(db: Db, scope: Scope, session: Pick<Session, 'customerId'>): Promise<void> {
  if (!(await customerExists(db, scope, session))) throw new Failure('customer_not_found');
}
