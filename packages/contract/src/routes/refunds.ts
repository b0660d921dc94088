import { z } from 'zod';
import { expansionOfRecord, listOf, oneOf } from '../answers.ts';
import { metadata, reference, sum, text } from '../fields.ts';
import { limits } from '../limits.ts';
import { listQuery, queryReference } from '../query.ts';
import { defineRoute } from '../route.ts';

const params = { id: 'refund' } as const;
const reason = text(limits.shortTextLength).optional();

/** Deprecated since the interface's change notes of 2026, removed at the end of June 2026 (interface, Versioning 2). */
const deprecation = {
  since: '@1767225600',
  sunset: 'Tue, 30 Jun 2026 23:59:59 GMT',
  successor: '/v1/checkout/sessions/{id}/refund',
} as const;

const expansion = expansionOfRecord('refund');

export const refundRoutes = {
  create: defineRoute({
    id: 'refunds.create',
    summary: 'Refund a payment intent',
    method: 'POST',
    path: '/v1/refunds',
    scope: 'refunds_write',
    owner: 'refunds',
    body: {
      envelope: 'refund',
      schema: z.object({
        payment_intent_id: reference('payment_intent'),
        amount: sum.min(1).optional(),
        reason,
        metadata: metadata.optional(),
      }),
    },
    response: oneOf('refund'),
    expansion,
    idempotency: 'replay',
    deprecation,
    errors: [
      'payment_intent_not_succeeded',
      'refund_amount_exceeds_remaining',
      'refund_amount_invalid',
      'refund_limit_reached',
      'processor_not_configured',
    ],
    violations: ['payment_intent_not_found'],
  }),
  list: defineRoute({
    id: 'refunds.list',
    summary: 'List refunds, newest first',
    method: 'GET',
    path: '/v1/refunds',
    scope: 'refunds_read',
    owner: 'refunds',
    query: listQuery('refund', {
      payment_intent: queryReference('payment_intent').optional(),
      checkout_session: queryReference('checkout_session').optional(),
    }),
    response: listOf('refund'),
    expansion,
    violations: ['payment_intent_not_found', 'checkout_session_not_found'],
  }),
  get: defineRoute({
    id: 'refunds.get',
    summary: 'Read a refund',
    method: 'GET',
    path: '/v1/refunds/{id}',
    params,
    scope: 'refunds_read',
    owner: 'refunds',
    response: oneOf('refund'),
    expansion,
  }),
  update: defineRoute({
    id: 'refunds.update',
    summary: 'Update the reason and the metadata of a refund',
    method: 'PATCH',
    path: '/v1/refunds/{id}',
    params,
    scope: 'refunds_write',
    owner: 'refunds',
    body: { envelope: 'refund', schema: z.object({ reason, metadata: metadata.optional() }) },
    response: oneOf('refund'),
    expansion,
  }),
};
