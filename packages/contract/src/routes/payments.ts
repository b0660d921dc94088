import { z } from 'zod';
import { expansionOfRecord, listOf, oneOf } from '../answers.ts';
import { metadata, sum } from '../fields.ts';
import { listQuery, queryReference } from '../query.ts';
import { defineRoute } from '../route.ts';

const intentExpansion = expansionOfRecord('payment_intent');
const chargeExpansion = expansionOfRecord('charge');

/** Deprecated since the interface's change notes of 2026, removed at the end of June 2026 (interface, Versioning 2). */
const deprecation = {
  since: '@1767225600',
  sunset: 'Tue, 30 Jun 2026 23:59:59 GMT',
  successor: '/v1/checkout/sessions/{id}/capture',
} as const;

export const paymentIntentRoutes = {
  list: defineRoute({
    id: 'payment_intents.list',
    summary: 'List payment intents, newest first',
    method: 'GET',
    path: '/v1/payment_intents',
    scope: 'payment_intents_read',
    owner: 'checkout',
    query: listQuery('payment_intent', {
      customer: queryReference('customer').optional(),
      checkout_session: queryReference('checkout_session').optional(),
    }),
    response: listOf('payment_intent'),
    expansion: intentExpansion,
    violations: ['customer_not_found', 'checkout_session_not_found'],
  }),
  get: defineRoute({
    id: 'payment_intents.get',
    summary: 'Read a payment intent',
    method: 'GET',
    path: '/v1/payment_intents/{id}',
    params: { id: 'payment_intent' },
    scope: 'payment_intents_read',
    owner: 'checkout',
    response: oneOf('payment_intent'),
    expansion: intentExpansion,
  }),
  capture: defineRoute({
    id: 'payment_intents.capture',
    summary: 'Capture what a payment intent holds, once, in whole or part',
    method: 'POST',
    path: '/v1/payment_intents/{id}/capture',
    params: { id: 'payment_intent' },
    scope: 'payment_intents_write',
    owner: 'checkout',
    body: {
      envelope: 'payment_intent',
      optional: true,
      schema: z.object({ amount_to_capture: sum.min(1).optional(), capture_metadata: metadata.optional() }),
    },
    response: oneOf('payment_intent'),
    expansion: intentExpansion,
    idempotency: 'replay',
    deprecation,
    errors: [
      'checkout_session_already_processed',
      'checkout_session_expired',
      'checkout_session_canceled',
      'checkout_session_not_capturable',
      'capture_amount_exceeds_authorized',
      'processor_not_configured',
    ],
  }),
};

export const setupIntentRoutes = {
  list: defineRoute({
    id: 'setup_intents.list',
    summary: 'List setup intents, newest first',
    method: 'GET',
    path: '/v1/setup_intents',
    scope: 'setup_intents_read',
    owner: 'checkout',
    query: listQuery('setup_intent', { customer: queryReference('customer').optional() }),
    response: listOf('setup_intent'),
    expansion: expansionOfRecord('setup_intent'),
    violations: ['customer_not_found'],
  }),
  get: defineRoute({
    id: 'setup_intents.get',
    summary: 'Read a setup intent',
    method: 'GET',
    path: '/v1/setup_intents/{id}',
    params: { id: 'setup_intent' },
    scope: 'setup_intents_read',
    owner: 'checkout',
    response: oneOf('setup_intent'),
    expansion: expansionOfRecord('setup_intent'),
  }),
};

export const chargeRoutes = {
  list: defineRoute({
    id: 'charges.list',
    summary: 'List charges, newest first',
    method: 'GET',
    path: '/v1/charges',
    scope: 'charges_read',
    owner: 'checkout',
    query: listQuery('charge', { payment_intent: queryReference('payment_intent').optional() }),
    response: listOf('charge'),
    expansion: chargeExpansion,
    violations: ['payment_intent_not_found'],
  }),
  get: defineRoute({
    id: 'charges.get',
    summary: 'Read a charge',
    method: 'GET',
    path: '/v1/charges/{id}',
    params: { id: 'charge' },
    scope: 'charges_read',
    owner: 'checkout',
    response: oneOf('charge'),
    expansion: chargeExpansion,
  }),
};
