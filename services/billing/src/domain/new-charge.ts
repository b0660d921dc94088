import { newId } from '@eligo/values';
import type { Invoice, InvoiceCharge } from './invoice.ts';
import type { NextCharge } from './payment-shares.ts';

/** The charge of an invoice as its row is first written. `actingAt` is by the subscription's clock, `createdAt` by the wall clock. */
export function newCharge(
  { id, paysOnPage, billingReason, attempts }: Pick<Invoice, 'id' | 'paysOnPage' | 'billingReason' | 'attempts'>,
  { leg, backup, paymentMethodId, amountCents }: Extract<NextCharge, { kind: 'charge' }>,
  times: Pick<InvoiceCharge, 'actingAt' | 'createdAt'>,
): InvoiceCharge {
  return {
    id: newId('charge_attempt'),
    invoiceId: id,
    ...{ leg, backup, paymentMethodId, amountCents },
    onPage: paysOnPage,
    // The first try of a subscription's first invoice: who buys is there. A session charges its own.
    withCustomer: billingReason === 'subscription_create' && attempts === 0 && !paysOnPage,
    status: 'pending',
    ...times,
    paymentIntentId: null,
    chargeId: null,
    failureCode: null,
    declineCode: null,
  };
}
