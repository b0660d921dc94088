import { z } from 'zod';
import { expansionOfRecord, listOf, oneOf } from '../answers.ts';
import { idOf, reference, sum } from '../fields.ts';
import { limits } from '../limits.ts';
import { listQuery, queryList, queryReference } from '../query.ts';
import { consumerInvoiceSchema } from '../resources/invoice.ts';
import { subscriptionStatuses } from '../resources/subscription.ts';
import { defineRoute } from '../route.ts';
import { subscriptionChange, subscriptionCreation, subscriptionResumption } from './subscription-body.ts';

const subscriptionExpansion = expansionOfRecord('subscription');
const invoiceExpansion = expansionOfRecord('invoice');
const subscriptionParams = { id: 'subscription' } as const;
/** References that a body which sells prices may get wrong. */
const soldReferences = [
  'payment_method_not_found',
  'payment_method_not_off_session',
  'payment_method_from_another_processor',
  'price_not_found',
  'coupon_not_found',
  'coupon_not_applicable',
  'promo_code_invalid',
] as const;

export const subscriptionRoutes = {
  list: defineRoute({
    id: 'subscriptions.list',
    summary: 'List subscriptions, newest first',
    method: 'GET',
    path: '/v1/subscriptions',
    scope: 'subscriptions_read',
    owner: 'billing',
    query: listQuery('subscription', {
      customer: queryReference('customer').optional(),
      status: z.enum(subscriptionStatuses).optional(),
    }),
    response: listOf('subscription'),
    expansion: subscriptionExpansion,
    violations: ['customer_not_found'],
  }),
  create: defineRoute({
    id: 'subscriptions.create',
    summary: 'Create a subscription and charge its first invoice',
    method: 'POST',
    path: '/v1/subscriptions',
    scope: 'subscriptions_write',
    owner: 'billing',
    body: { envelope: 'subscription', schema: subscriptionCreation },
    response: oneOf('subscription'),
    expansion: subscriptionExpansion,
    idempotency: 'replay',
    violations: ['customer_not_found', ...soldReferences],
  }),
  get: defineRoute({
    id: 'subscriptions.get',
    summary: 'Read a subscription',
    method: 'GET',
    path: '/v1/subscriptions/{id}',
    params: subscriptionParams,
    scope: 'subscriptions_read',
    owner: 'billing',
    response: oneOf('subscription'),
    expansion: subscriptionExpansion,
  }),
  update: defineRoute({
    id: 'subscriptions.update',
    summary: 'Change a subscription; a new card pays at once what is owed, and other items are prorated',
    method: 'PATCH',
    path: '/v1/subscriptions/{id}',
    params: subscriptionParams,
    scope: 'subscriptions_write',
    owner: 'billing',
    body: { envelope: 'subscription', schema: subscriptionChange },
    response: oneOf('subscription'),
    expansion: subscriptionExpansion,
    errors: ['subscription_not_updatable', 'invoice_payment_tries_exceeded'],
    violations: soldReferences,
  }),
  pause: defineRoute({
    id: 'subscriptions.pause',
    summary: 'Pause an active subscription: it is not billed until it is resumed',
    method: 'POST',
    path: '/v1/subscriptions/{id}/pause',
    params: subscriptionParams,
    scope: 'subscriptions_write',
    owner: 'billing',
    response: oneOf('subscription'),
    expansion: subscriptionExpansion,
    errors: ['subscription_not_pausable'],
  }),
  resume: defineRoute({
    id: 'subscriptions.resume',
    summary: 'Resume a paused subscription and charge what that costs',
    method: 'POST',
    path: '/v1/subscriptions/{id}/resume',
    params: subscriptionParams,
    scope: 'subscriptions_write',
    owner: 'billing',
    body: { envelope: 'subscription', optional: true, schema: subscriptionResumption },
    response: oneOf('subscription'),
    expansion: subscriptionExpansion,
    errors: ['subscription_not_resumable'],
  }),
  cancel: defineRoute({
    id: 'subscriptions.cancel',
    summary: 'Cancel a subscription, at once or at the end of its period',
    method: 'DELETE',
    path: '/v1/subscriptions/{id}',
    params: subscriptionParams,
    scope: 'subscriptions_write',
    owner: 'billing',
    body: {
      envelope: 'subscription',
      optional: true,
      schema: z
        .object({
          cancel_at_period_end: z.boolean().optional(),
          refund: z.enum(['none', 'full', 'prorated', 'custom']).optional(),
          refund_amount: sum.optional(),
        })
        .refine((given) => given.refund !== 'custom' || (given.refund_amount ?? 0) > 0, {
          path: ['refund_amount'],
          error: 'Must be positive with refund custom',
          params: { type: 'refund_amount_invalid' },
        }),
    },
    response: oneOf('subscription'),
    expansion: subscriptionExpansion,
    errors: ['subscription_not_cancelable', 'refund_amount_exceeds_remaining'],
    violations: ['refund_amount_invalid'],
  }),
  resendReceipts: defineRoute({
    id: 'subscriptions.resend_receipts',
    summary: "Mail the receipts of a subscription's first payment again",
    method: 'POST',
    path: '/v1/subscriptions/{id}/receipts/resend',
    params: subscriptionParams,
    scope: 'subscriptions_write',
    owner: 'billing',
    response: z.strictObject({ receipt_ids: z.array(idOf('receipt')) }),
  }),
};

export const invoiceRoutes = {
  list: defineRoute({
    id: 'invoices.list',
    summary: 'List invoices, newest first',
    method: 'GET',
    path: '/v1/invoices',
    scope: 'invoices_read',
    owner: 'billing',
    query: listQuery('invoice', { customer: queryReference('customer').optional() }, { limit: 20 }),
    response: listOf('invoice'),
    expansion: invoiceExpansion,
    violations: ['customer_not_found'],
  }),
  get: defineRoute({
    id: 'invoices.get',
    summary: 'Read an invoice',
    method: 'GET',
    path: '/v1/invoices/{id}',
    params: { id: 'invoice' },
    scope: 'invoices_read',
    owner: 'billing',
    response: oneOf('invoice'),
    expansion: invoiceExpansion,
  }),
  getDocument: defineRoute({
    id: 'invoices.get_document',
    summary: 'Read the documents of an invoice: HTML, and a PDF in base64',
    method: 'GET',
    path: '/v1/invoices/{id}/document',
    params: { id: 'invoice' },
    scope: 'invoices_read',
    owner: 'billing',
    response: z.strictObject({ invoice_document: z.strictObject({ html: z.string(), pdf: z.base64() }) }),
  }),
  pay: defineRoute({
    id: 'invoices.pay',
    summary: 'Charge an invoice now',
    method: 'POST',
    path: '/v1/invoices/{id}/pay',
    params: { id: 'invoice' },
    scope: 'invoices_write',
    owner: 'billing',
    body: {
      envelope: 'invoice',
      optional: true,
      schema: z.object({ payment_method: reference('payment_method').optional() }),
    },
    response: oneOf('invoice'),
    expansion: invoiceExpansion,
    errors: [
      'invoice_already_paid',
      'invoice_not_payable',
      'invoice_payment_tries_exceeded',
      'health_cards_not_enabled',
      'card_declined',
      'authentication_required',
    ],
    violations: ['payment_method_not_found', 'payment_method_not_off_session', 'payment_method_from_another_processor'],
  }),
  void: defineRoute({
    id: 'invoices.void',
    summary: 'Void an invoice that is not paid',
    method: 'POST',
    path: '/v1/invoices/{id}/void',
    params: { id: 'invoice' },
    scope: 'invoices_write',
    owner: 'billing',
    response: oneOf('invoice'),
    expansion: invoiceExpansion,
    errors: ['invoice_not_voidable'],
  }),
  listForConsumer: defineRoute({
    id: 'consumer_invoices.list',
    summary: 'List the invoices of a subscription as its consumer sees them',
    method: 'GET',
    path: '/v1/consumer/subscriptions/{subscription_id}/invoices',
    params: { subscription_id: 'subscription' },
    scope: 'invoices_read',
    owner: 'billing',
    query: z.preprocess(
      withLimitOfIds,
      listQuery(
        'invoice',
        { invoice_ids: queryList(queryReference('invoice'), limits.invoiceIds).optional() },
        { about: 'With `invoice_ids` and no `limit`, the page is as long as that list.' },
      ),
    ),
    response: z.strictObject({ invoices: z.array(consumerInvoiceSchema), has_more: z.boolean() }),
    violations: ['invoice_not_found'],
  }),
};

// Who asks for invoices by their ids is given all of them: without a limit of its own the page is as long as that list.
function withLimitOfIds(asked: unknown): unknown {
  if (typeof asked !== 'object' || asked === null || 'limit' in asked) return asked;
  const { invoice_ids: ids } = asked as { readonly invoice_ids?: unknown };
  const count = typeof ids === 'object' && ids !== null ? Object.keys(ids).length : 0;
  return count === 0 ? asked : { ...asked, limit: String(Math.min(count, limits.invoiceIds)) };
}
