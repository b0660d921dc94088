import { Failure } from '@eligo/failures';
import type { Customer, PaymentMethod } from '@eligo/proto/checkout/v1/checkout';
import type { Call } from '@eligo/rpc';
import type { Context } from '../context.ts';
import { absentAsNull } from './payer.ts';

/** The customer that a body names; a 422 if it is not there or was deleted. */
export async function namedCustomer(context: Context, call: Call, id: string): Promise<Customer> {
  const found = await absentAsNull(context.checkout.getCustomer({ id }, call));
  if (found === null || found.deleted) {
    throw Failure.invalid(['body', 'subscription', 'customer'], 'customer_not_found', `customer_not_found: ${id}`);
  }
  return found;
}

/**
 * Checks the cards that a body names for a customer, each at its field: a 422 if one is not the customer's, was saved at another processor account, or cannot be charged without its owner. A card of
 * another customer is not found, so that identifiers cannot be probed.
 */
export async function checkNamedCards(
  context: Context,
  call: Call,
  customerId: string,
  named: readonly { readonly id: string | null | undefined; readonly loc: readonly string[] }[],
): Promise<void> {
  await Promise.all(
    named.map(async ({ id, loc }) => {
      if (id == null) return;
      const method: PaymentMethod | null = await absentAsNull(context.checkout.getPaymentMethod({ id }, call));
      if (method === null || method.customerId !== customerId) {
        throw Failure.invalid(['body', ...loc], 'payment_method_not_found', `payment_method_not_found: ${id}`);
      }
      if (method.notChargeable !== undefined) {
        throw Failure.invalid(['body', ...loc], method.notChargeable, method.notChargeable);
      }
      if (!method.offSession) {
        throw Failure.invalid(['body', ...loc], 'payment_method_not_off_session', 'payment_method_not_off_session');
      }
    }),
  );
}
