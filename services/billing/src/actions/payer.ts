import { Failure } from '@eligo/failures';
import type { Scope } from '@eligo/postgres';
import type { PaymentMethod } from '@eligo/proto/checkout/v1/checkout';
import type { Context } from '../context.ts';
import type { Card, Cards } from '../domain/payment-shares.ts';
import type { CardIds } from '../domain/subscription.ts';

/** The payment methods of a subscription as checkout has them now; null for one that it does not have, or that is no longer there. */
export interface PayingMethods {
  readonly standard: PaymentMethod | null;
  readonly backup: PaymentMethod | null;
}

export async function methodsOf(
  context: Context,
  scope: Scope,
  { defaultPaymentMethodId, backupPaymentMethodId }: CardIds,
): Promise<PayingMethods> {
  const [standard, backup] = await Promise.all([
    findMethod(context, scope, defaultPaymentMethodId),
    findMethod(context, scope, backupPaymentMethodId),
  ]);
  return { standard, backup };
}

/** The cards of these methods; undefined when one of them is no longer there: the other one does not pay its part. */
export function cardsOfMethods(ids: CardIds, { standard, backup }: PayingMethods): Cards | undefined {
  const isGone = (method: PaymentMethod | null, id: string | null) => method === null && id !== null;
  if (isGone(standard, ids.defaultPaymentMethodId) || isGone(backup, ids.backupPaymentMethodId)) return undefined;
  return { standard: standard && cardOfMethod(standard), backup: backup && cardOfMethod(backup) };
}

/** The cards of a subscription as checkout has them now; undefined when one of them is no longer there. */
export async function cardsOf(context: Context, scope: Scope, ids: CardIds): Promise<Cards | undefined> {
  return cardsOfMethods(ids, await methodsOf(context, scope, ids));
}

/** A payment method as checkout has it now; null without an id, or if it is no longer there. */
export async function findMethod(context: Context, scope: Scope, id: string | null): Promise<PaymentMethod | null> {
  if (id === null) return null;
  return absentAsNull(context.checkout.getPaymentMethod({ id }, { caller: context.callerFor(scope) }));
}

/** Whether the customer is still there: the cards of one that was deleted are not charged. */
export async function isCustomerThere(context: Context, scope: Scope, id: string): Promise<boolean> {
  const found = await absentAsNull(context.checkout.getCustomer({ id }, { caller: context.callerFor(scope) }));
  return found !== null && !found.deleted;
}

/** Those of the customers who are still there, with one call. */
export async function customersThere(context: Context, scope: Scope, ids: readonly string[]): Promise<Set<string>> {
  const found = await context.checkout.batchGetCustomers(
    { ids: [...new Set(ids)] },
    { caller: context.callerFor(scope) },
  );
  return new Set(found.customers.flatMap(({ customerId, deleted }) => (deleted ? [] : [customerId])));
}

/** What `cardsOf` answers for each of several subscriptions, with one call. */
export async function cardsOfSeveral(
  context: Context,
  scope: Scope,
  owners: readonly CardIds[],
): Promise<(Cards | undefined)[]> {
  const ids = owners.flatMap(({ defaultPaymentMethodId: standard, backupPaymentMethodId: backup }) =>
    [standard, backup].filter((id) => id !== null),
  );
  const known = new Map<string, Card>();
  if (ids.length > 0) {
    const found = await context.checkout.batchGetPaymentMethods(
      { ids: [...new Set(ids)] },
      { caller: context.callerFor(scope) },
    );
    for (const method of found.paymentMethods) known.set(method.paymentMethodId, cardOfMethod(method));
  }
  const cardOfId = (id: string | null) => (id === null ? null : known.get(id));
  return owners.map(({ defaultPaymentMethodId, backupPaymentMethodId }) => {
    const [standard, backup] = [cardOfId(defaultPaymentMethodId), cardOfId(backupPaymentMethodId)];
    return standard === undefined || backup === undefined ? undefined : { standard, backup };
  });
}

/** The email address of a customer; undefined if there is none, or if the customer was deleted. */
export async function emailOf(context: Context, scope: Scope, customerId: string): Promise<string | undefined> {
  const customer = await absentAsNull(
    context.checkout.getCustomer({ id: customerId }, { caller: context.callerFor(scope) }),
  );
  return customer === null || customer.deleted ? undefined : customer.email;
}

// A card of which nothing is known is treated as a health card (decisions 14.70).
function cardOfMethod({ paymentMethodId, card }: PaymentMethod): Card {
  return { id: paymentMethodId, healthCard: card?.hsaFsa !== false };
}

/** What a call answers, or null if the record is not there. */
export async function absentAsNull<T>(call: Promise<T>): Promise<T | null> {
  try {
    return await call;
  } catch (error) {
    if (error instanceof Failure && error.status === 404) return null;
    throw error;
  }
}
