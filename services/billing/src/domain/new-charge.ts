import { newId } from '@eligo/values';
import type { Invoice, InvoiceCharge } from './invoice.ts';
import type { NextCharge } from './payment-shares.ts';

/** The charge of an invoice as its row is first written. `actingAt` is by the subscription's clock, `createdAt` by the wall clock. */
export function newCharge(
  { id, paysOnPage }: Pick<Invoice, 'id' | 'paysOnPage'>,
  { leg, backup, paymentMethodId, amountCents }: Extract<NextCharge, { kind: 'charge' }>,
  times: Pick<InvoiceCharge, 'actingAt' | 'createdAt'>,
): InvoiceCharge {
  return {
    id: newId('charge_attempt'),
    invoiceId: id,
    ...{ leg, backup, paymentMethodId, amountCents },
    onPage: paysOnPage,
    status: 'pending',
    ...times,
    paymentIntentId: null,
    chargeId: null,
    failureCode: null,
    declineCode: null,
  };
}
