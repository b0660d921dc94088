import type { Scope } from '@eligo/postgres';
import type { Context } from '../context.ts';
import type { Invoice } from '../domain/invoice.ts';
import { chargesToCome } from '../domain/payment-shares.ts';
import type { Subscription } from '../domain/subscription.ts';
import { loadInvoiceCharges } from '../store/invoice-charges.ts';
import { cardsOf, payerOf } from './payer.ts';

/**
 * The code of why a named card would pay no part of an invoice, or undefined if it would pay one. A payment that waits for its customer is given up for a card that is
 * charged, and for no other one.
 */
export async function findUselessCard(
  context: Context,
  scope: Scope,
  subscription: Subscription,
  known: Invoice,
  payWithPaymentMethodId: string,
): Promise<string | undefined> {
  const invoice = { ...known, payWithPaymentMethodId };
  const [charges, cards] = await Promise.all([
    loadInvoiceCharges(context.database, scope, invoice.id),
    cardsOf(context, scope, payerOf(subscription, invoice)),
  ]);
  if (cards === undefined) return 'payment_method_required';
  const toCome = chargesToCome(invoice, charges, cards);
  if (toCome.kind !== 'charges') return toCome.failureCode;
  return toCome.paymentMethodIds.includes(payWithPaymentMethodId) ? undefined : 'backup_payment_method_required';
}
