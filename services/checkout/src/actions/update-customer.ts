import { append } from '@eligo/events';
import { Failure } from '@eligo/failures';
import { type Scope, type Tx, withTx } from '@eligo/postgres';
import { newId } from '@eligo/values';
import type { Context } from '../context.ts';
import type { Address } from '../domain/address.ts';
import type { Customer } from '../domain/customer.ts';
import { customerMessage } from '../messages/customer.ts';
import { lockCustomer, saveCustomer } from '../store/customers.ts';
import { timeOnClock } from '../store/test-clocks.ts';

/** What to change: what is undefined stays, what is null is cleared. */
export interface CustomerChange {
  readonly firstName?: string | null;
  readonly lastName?: string | null;
  readonly email?: string | null;
  readonly phone?: string | null;
  readonly employer?: string | null;
  readonly shipping?: Address | null;
  readonly metadata?: Readonly<Record<string, string>>;
}

/** Changes a customer; an update without changes causes no event. */
export async function updateCustomer(
  { database, clock }: Pick<Context, 'database' | 'clock'>,
  scope: Scope,
  id: string,
  change: CustomerChange,
): Promise<Customer> {
  return withTx(database, scope, (tx) => changeCustomer({ clock }, tx, scope, id, change));
}

/** The same within a transaction. */
export async function changeCustomer(
  { clock }: Pick<Context, 'clock'>,
  tx: Tx,
  scope: Scope,
  id: string,
  change: CustomerChange,
): Promise<Customer> {
  const before = await lockCustomer(tx, scope, id);
  if (before === undefined) throw new Failure('customer_not_found');
  const changed = changedCustomer(before, change);
  if (isSameContent(before, changed)) return before;
  const updatedAt = await timeOnClock(tx, scope, clock, before.testClockId);
  const after = await saveCustomer(tx, scope, before, { ...changed, updatedAt });
  await append(tx, {
    type: 'customer.updated',
    aggregateId: id,
    ...scope,
    at: updatedAt,
    object: { case: 'customer', value: customerMessage(scope, after) },
  });
  return after;
}

function changedCustomer(before: Customer, { shipping, ...rest }: CustomerChange): Customer {
  const given = Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== undefined));
  return {
    ...before,
    ...given,
    shipping: shipping === undefined ? before.shipping : addressWithId(before.shipping, shipping),
  };
}

// Whole fetched objects are posted back (decisions 1.2): an address that did not change keeps its identifier.
function addressWithId(before: Address | null, after: Address | null): Address | null {
  if (after === null) return null;
  const { shippingAddressId, ...parts } = before ?? {};
  const isSame = sortedJson(parts) === sortedJson(after);
  return { ...after, shippingAddressId: (isSame ? shippingAddressId : undefined) ?? newId('shipping_address') };
}

function isSameContent(a: Customer, b: Customer): boolean {
  return sortedJson({ ...a, version: 0 }) === sortedJson({ ...b, version: 0 });
}

function sortedJson(value: object): string {
  return JSON.stringify(value, (_key, inner: unknown) =>
    typeof inner === 'object' && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  );
}
