import { Failure } from '@eligo/failures';
import type { Scope } from '@eligo/postgres';
import type { PaymentMethod } from '@eligo/proto/checkout/v1/checkout';
import type { Context } from '../context.ts';
import type { Invoice } from '../domain/invoice.ts';
import type { Card, Cards } from '../domain/payment-shares.ts';
import type { CardIds, Subscription } from '../domain/subscription.ts';

/** The payment methods of a subscription as checkout has them now; null for one that it does not have, or that checkout does not know. */
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

/** Whose cards pay: one that has become another customer's is gone. */
export type Payer = CardIds & Pick<Subscription, 'customerId'>;

/** The cards that pay an invoice: those typed on the page alone, or the subscription's with a named card in place of the default one. */
export function payerOf(subscription: Subscription, invoice: Invoice | undefined): Payer {
  const { customerId, defaultPaymentMethodId, backupPaymentMethodId } = subscription;
  return {
    customerId,
    defaultPaymentMethodId: invoice?.payWithPaymentMethodId ?? defaultPaymentMethodId,
    backupPaymentMethodId: invoice?.paysOnPage ? invoice.payWithBackupPaymentMethodId : backupPaymentMethodId,
  };
}

/** The cards of these methods; undefined when checkout does not know one of them: the other one does not pay its part. */
export function cardsOfMethods(of: Payer, { standard, backup }: PayingMethods): Cards | undefined {
  const isUnknown = (method: PaymentMethod | null, id: string | null) => method === null && id !== null;
  if (isUnknown(standard, of.defaultPaymentMethodId) || isUnknown(backup, of.backupPaymentMethodId)) return undefined;
  return {
    standard: standard && cardOfMethod(standard, of.customerId),
    backup: backup && cardOfMethod(backup, of.customerId),
  };
}

/** The cards of a subscription as checkout has them now; undefined when checkout does not know one of them. */
export async function cardsOf(context: Context, scope: Scope, of: Payer): Promise<Cards | undefined> {
  return cardsOfMethods(of, await methodsOf(context, scope, of));
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
  owners: readonly Payer[],
): Promise<(Cards | undefined)[]> {
  const ids = owners.flatMap(({ defaultPaymentMethodId: standard, backupPaymentMethodId: backup }) =>
    [standard, backup].filter((id) => id !== null),
  );
  const known = new Map<string, PaymentMethod>();
  if (ids.length > 0) {
    const found = await context.checkout.batchGetPaymentMethods(
      { ids: [...new Set(ids)] },
      { caller: context.callerFor(scope) },
    );
    for (const method of found.paymentMethods) known.set(method.paymentMethodId, method);
  }
  const methodOfId = (id: string | null) => (id === null ? null : (known.get(id) ?? null));
  return owners.map((of) => {
    const standard = methodOfId(of.defaultPaymentMethodId);
    return cardsOfMethods(of, { standard, backup: methodOfId(of.backupPaymentMethodId) });
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
function cardOfMethod({ paymentMethodId, card, ...method }: PaymentMethod, customerId: string): Card {
  const isOfAnother = method.customerId !== undefined && method.customerId !== customerId;
  const gone = method.notChargeable ?? (isOfAnother ? 'payment_method_not_found' : null);
  return { id: paymentMethodId, healthCard: card?.hsaFsa !== false, gone };
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
