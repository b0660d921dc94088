import type { Invoice } from '@eligo/proto/billing/v1/billing';
import { centsFromInt64 } from '@eligo/values';
import { z } from 'zod';
import { type Expansion, expandable, expandsTo, noExpansion, type References } from '../expansion.ts';
import { answer, idOf } from '../fields.ts';
import { isoTime } from '../times.ts';

export const invoiceSchema = expandsTo(
  'invoice',
  z.strictObject({
    invoice_id: idOf('invoice'),
    total: answer.cents,
    amount_due: answer.cents,
    amount_paid: answer.cents,
    payment_intent: expandable('payment_intent').nullable(),
    charge: answer.text,
    customer: expandable('customer'),
    period_end: answer.time,
    period_start: answer.time,
    subscription: expandable('subscription').nullable(),
    paid_at: answer.time.nullable(),
    status: z.enum(['draft', 'open', 'paid', 'void', 'uncollectible']),
    collection_method: z.string(),
    test_mode: z.boolean(),
    metadata: answer.metadata,
    created_at: answer.time,
    backup_charge_status: answer.text,
    hosted_invoice_url: answer.text,
  }),
);

/** The consumer listing leaves these out (interface, Invoice). */
const partnerOnly = { payment_intent: true, customer: true, subscription: true, paid_at: true } as const;

export const consumerInvoiceSchema = invoiceSchema.omit(partnerOnly);

export const invoiceReferences: References<Invoice> = {
  customer: { kind: 'customer', ids: (invoice) => [invoice.customerId] },
  payment_intent: { kind: 'payment_intent', ids: (invoice) => [invoice.paymentIntentId] },
  subscription: { kind: 'subscription', ids: (invoice) => [invoice.subscriptionId] },
};

export function renderInvoice(invoice: Invoice, expansion: Expansion = noExpansion): z.infer<typeof invoiceSchema> {
  return {
    invoice_id: invoice.invoiceId,
    total: centsFromInt64(invoice.totalCents),
    amount_due: centsFromInt64(invoice.amountDueCents),
    amount_paid: centsFromInt64(invoice.amountPaidCents),
    payment_intent: expansion.of('payment_intent', invoice.paymentIntentId),
    charge: invoice.chargeId ?? null,
    customer: expansion.of('customer', invoice.customerId),
    period_end: isoTime(invoice.periodEndMs),
    period_start: isoTime(invoice.periodStartMs),
    subscription: expansion.of('subscription', invoice.subscriptionId),
    paid_at: invoice.paidAtMs === undefined ? null : isoTime(invoice.paidAtMs),
    status: invoice.status as z.infer<typeof invoiceSchema>['status'],
    collection_method: invoice.collectionMethod,
    test_mode: invoice.testMode,
    metadata: invoice.metadata,
    created_at: isoTime(invoice.createdAtMs),
    backup_charge_status: invoice.backupChargeStatus ?? null,
    hosted_invoice_url: invoice.pageUrl ?? null,
  };
}

export function renderConsumerInvoice(invoice: Invoice): z.infer<typeof consumerInvoiceSchema> {
  const { payment_intent, customer, subscription, paid_at, ...shown } = renderInvoice(invoice);
  return shown;
}
