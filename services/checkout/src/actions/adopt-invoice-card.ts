import { Failure } from '@eligo/failures';
import { type Scope, withTx } from '@eligo/postgres';
import type { Context } from '../context.ts';
import { type CardSlot, kindOfCard } from '../domain/card-kind.ts';
import type { PaymentMethod } from '../domain/payment-method.ts';
import { findCustomer } from '../store/customers.ts';
import { findPaymentMethod, noteShopperKinds } from '../store/payment-methods.ts';
import { adoptPageCard } from './adopt-page-card.ts';
import { keepCard } from './keep-card.ts';

/** A card as the processor's own fields on the payment page of an invoice gave it. */
export interface CardOfInvoice {
  readonly invoiceId: string;
  readonly customerId: string;
  readonly processorPaymentMethodId: string;
  /** Where the customer put it. */
  readonly slot: CardSlot;
  /** True where the account may charge no health cards. */
  readonly refusesHealthCards: boolean;
}

/**
 * Makes a payment method of a card that the customer of an invoice typed on its page, and attaches it to the customer: renewals are charged to it later. A
 * confirmation token is attached by the charge that uses it. The same card again is the same payment method.
 */
export async function adoptInvoiceCard(context: Context, scope: Scope, card: CardOfInvoice): Promise<PaymentMethod> {
  const { invoiceId, customerId, processorPaymentMethodId, slot } = card;
  const { database } = context;
  const customer = await findCustomer(database, scope, customerId);
  if (customer === undefined || customer.deletedAt !== null) throw new Failure('customer_not_found');
  const id = await adoptPageCard(context, scope, {
    ...{ sessionId: null, invoiceId, customerId, testClockId: customer.testClockId, processorPaymentMethodId },
    loc: ['body', 'cards'],
    offSession: true,
  });
  const adopted = await existing(context, scope, id);
  const kind = kindOfCard(adopted.card.hsaFsa, slot);
  if (card.refusesHealthCards && kind === 'health') throw new Failure('health_cards_not_enabled');
  await keepCard(context, scope, id, customerId);
  await withTx(database, scope, (tx) => noteShopperKinds(tx, scope, new Map([[id, slot === 'health']])));
  return existing(context, scope, id);
}

async function existing({ database }: Context, scope: Scope, id: string): Promise<PaymentMethod> {
  const method = await findPaymentMethod(database, scope, id);
  if (method === undefined) throw new Failure('payment_method_not_found');
  return method;
}
