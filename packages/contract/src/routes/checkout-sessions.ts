import { z } from 'zod';
import { expansionOfRecord, listOf, oneOf } from '../answers.ts';
import { expansionNames } from '../expansion.ts';
import { metadata, reference, sum, text } from '../fields.ts';
import { limits } from '../limits.ts';
import { boolean, integer, listQuery, queryReference, queryText, queryTime } from '../query.ts';
import { sessionModes, sessionStatuses } from '../resources/checkout-session.ts';
import { allocationSchema } from '../resources/refund.ts';
import { timelineEntrySchema } from '../resources/session-timeline.ts';
import { substantiationSchema } from '../resources/substantiation.ts';
import { defineRoute } from '../route.ts';
import { sessionChange, sessionCreation } from './session-body.ts';

const params = { id: 'checkout_session' } as const;
const path = '/v1/checkout/sessions/{id}';
const expansion = expansionOfRecord('checkout_session');

const createdRange = z.object({
  gt: queryTime.optional(),
  gte: queryTime.optional(),
  lt: queryTime.optional(),
  lte: queryTime.optional(),
});

/** A line's refund may be negative: it is netted (decisions 1.10). */
const refundInstruction = z
  .object({
    amount: sum.optional(),
    line_items: z
      .array(
        z
          .object({
            price: reference('price').optional(),
            product: reference('product').optional(),
            amount_to_refund: z.int(),
          })
          .refine((line) => line.price !== undefined || line.product !== undefined, {
            path: ['price'],
            error: 'Supply price or product',
            params: { type: 'one_of_required' },
          }),
      )
      .max(limits.refundLines)
      .optional(),
    amount_tax: sum.optional(),
    amount_shipping: sum.optional(),
    amount_discount: sum.optional(),
    payment_methods: z
      .array(z.object({ payment_method_id: reference('payment_method'), amount: sum }))
      .max(limits.refundPaymentMethods)
      .optional(),
    refund_metadata: metadata.optional(),
  })
  .refine((refund) => refund.amount === undefined || (refund.line_items ?? []).length === 0, {
    path: ['line_items'],
    error: 'Send either amount or line_items, not both',
    params: { type: 'invalid_combination' },
  });

const captureInstruction = z
  .object({
    amount: sum.optional(),
    line_items: z
      .array(
        z
          .object({
            price: reference('price').optional(),
            product: reference('product').optional(),
            amount_to_capture: sum,
          })
          .refine((line) => line.price !== undefined || line.product !== undefined, {
            path: ['price'],
            error: 'Supply price or product',
            params: { type: 'one_of_required' },
          }),
      )
      .max(limits.captureLines)
      .optional(),
    amount_tax: sum.optional(),
    amount_shipping: sum.optional(),
    amount_discount: sum.optional(),
    final_capture: z.boolean().optional(),
    capture_metadata: metadata.optional(),
  })
  .refine((capture) => capture.amount === undefined || (capture.line_items ?? []).length === 0, {
    path: ['line_items'],
    error: 'Send either amount or line_items, not both',
    params: { type: 'invalid_combination' },
  });

const captureErrors = [
  'checkout_session_already_processed',
  'checkout_session_expired',
  'checkout_session_canceled',
  'checkout_session_not_capturable',
  'capture_amount_exceeds_authorized',
  'capture_amount_invalid',
  'multiple_captures_not_supported',
] as const;
const captureReferences = ['price_not_found', 'product_not_found'] as const;

const refundErrors = [
  'checkout_session_not_captured',
  'refund_amount_exceeds_remaining',
  'refund_amount_invalid',
  'refund_limit_reached',
  'payment_method_allocation_not_enabled',
] as const;
const refundReferences = ['price_not_found', 'product_not_found', 'payment_method_not_found'] as const;

export const checkoutSessionRoutes = {
  list: defineRoute({
    id: 'checkout_sessions.list',
    summary: 'List checkout sessions, newest first, without a page limit',
    method: 'GET',
    path: '/v1/checkout/sessions',
    scope: 'checkout_sessions_read',
    owner: 'checkout',
    streamed: true,
    query: listQuery(
      'checkout_session',
      {
        interval: integer(1, 36_500).optional(),
        status: z.enum(sessionStatuses).optional(),
        customer: queryReference('customer').optional(),
        customer_email: queryText.optional(),
        subscription: queryReference('subscription').optional(),
        client_reference_id: queryText.optional(),
        mode: z.enum(sessionModes).optional(),
        disputed: boolean.optional(),
        selling_plan: queryText.optional(),
        payment_intent: queryReference('payment_intent').optional(),
        created_gt: queryTime.optional(),
        created_gte: queryTime.optional(),
        created_lt: queryTime.optional(),
        created_lte: queryTime.optional(),
        created: createdRange.optional(),
      },
      { maxLimit: Number.MAX_SAFE_INTEGER },
    ),
    response: listOf('checkout_session'),
    expansion,
    violations: ['customer_not_found', 'subscription_not_found', 'payment_intent_not_found'],
  }),
  create: defineRoute({
    id: 'checkout_sessions.create',
    summary: 'Create a checkout session',
    method: 'POST',
    path: '/v1/checkout/sessions',
    scope: 'checkout_sessions_write',
    owner: 'checkout',
    body: { envelope: 'checkout_session', schema: sessionCreation },
    response: oneOf('checkout_session'),
    expansion,
    idempotency: 'session',
    errors: ['checkout_amount_too_low', 'processor_not_configured'],
    violations: [
      'price_not_found',
      'product_not_found',
      'product_component_not_found',
      'customer_not_found',
      'payment_method_not_found',
      'shipping_rate_not_found',
      'coupon_not_found',
      'promo_code_not_found',
      'price_required',
      'customer_required',
      'coupon_not_applicable',
      'promo_code_invalid',
    ],
  }),
  get: defineRoute({
    id: 'checkout_sessions.get',
    summary: 'Read a checkout session',
    method: 'GET',
    path,
    params,
    scope: 'checkout_sessions_read',
    owner: 'checkout',
    response: oneOf('checkout_session'),
    expansion,
  }),
  update: defineRoute({
    id: 'checkout_sessions.update',
    summary: 'Update what may change on a checkout session',
    method: 'POST',
    path,
    params,
    scope: 'checkout_sessions_write',
    owner: 'checkout',
    body: { envelope: 'checkout_session', schema: sessionChange },
    response: oneOf('checkout_session'),
    expansion,
  }),
  listLineItems: defineRoute({
    id: 'checkout_sessions.list_line_items',
    summary: 'List the lines of a checkout session with their split',
    method: 'GET',
    path: `${path}/line_items`,
    params,
    scope: 'checkout_sessions_read',
    owner: 'checkout',
    query: listQuery('line_item', {}),
    response: listOf('line_item'),
    expansion: expansionOfRecord('line_item'),
  }),
  getSubstantiation: defineRoute({
    id: 'checkout_sessions.get_substantiation',
    summary: 'Read what proves the eligibility of what the cards of a checkout session paid, as JSON or PDF',
    method: 'GET',
    path: `${path}/substantiation`,
    params,
    scope: 'checkout_sessions_read',
    owner: 'checkout',
    query: z.object({ format: z.enum(['json', 'pdf']).default('json') }),
    response: z.strictObject({ substantiation: substantiationSchema }),
    otherTypes: ['application/pdf'],
  }),
  timeline: defineRoute({
    id: 'checkout_sessions.timeline',
    summary: 'Show what happened to a checkout session and why, newest first',
    method: 'GET',
    path: `${path}/timeline`,
    params,
    scope: 'checkout_sessions_read',
    owner: 'checkout',
    response: z.strictObject({ timeline: z.array(timelineEntrySchema), has_more: z.boolean() }),
  }),
  confirm: defineRoute({
    id: 'checkout_sessions.confirm',
    summary:
      'Charge the eligible part of a checkout session, or what the first card of an off-session one does not pay',
    method: 'POST',
    path: `${path}/confirm`,
    params,
    scope: 'checkout_sessions_write',
    owner: 'checkout',
    body: {
      envelope: 'checkout_session',
      schema: z.object({
        // Any text: the interface answers a card that is not there with 404, whatever form its identifier has.
        payment_method: text(limits.shortTextLength).meta({ idField: 'payment_method_id' }).optional(),
        capture_method: z.string().max(40).optional(),
      }),
    },
    response: oneOf('checkout_session'),
    expansion: new Map([...expansion, ...expansionNames({ payment_method: { kind: 'payment_method' } })]),
    idempotency: 'strict',
    idempotencyRequired: true,
    bodyFirst: true,
    errors: [
      'checkout_session_already_processed',
      'checkout_session_expired',
      'checkout_session_canceled',
      'checkout_session_payment_tries_exceeded',
      'payment_method_not_found',
      'customer_not_found',
      'eligibility_record_not_found',
      'food_eligibility_not_enabled',
      'eligibility_record_already_charged',
      'conflict',
      'manual_capture_not_supported',
      'payment_method_not_off_session',
      'payment_method_from_another_processor',
      'health_cards_not_enabled',
      'other_payment_method_required',
      'card_declined',
      'authentication_required',
      'processor_not_configured',
    ],
  }),
  capture: defineRoute({
    id: 'checkout_sessions.capture',
    summary: 'Capture what the cards of a checkout session hold, in whole or part',
    method: 'POST',
    path: `${path}/capture`,
    params,
    scope: 'checkout_sessions_write',
    owner: 'checkout',
    body: { envelope: 'checkout_session', optional: true, schema: captureInstruction },
    response: oneOf('checkout_session'),
    expansion,
    idempotency: 'strict',
    errors: [...captureErrors, 'processor_not_configured'],
    violations: captureReferences,
  }),
  previewCapture: defineRoute({
    id: 'checkout_sessions.preview_capture',
    summary: "Show how a capture would be split over the session's cards",
    method: 'POST',
    path: `${path}/capture_allocation`,
    params,
    scope: 'checkout_sessions_read',
    owner: 'checkout',
    body: { envelope: 'checkout_session', optional: true, schema: captureInstruction },
    response: z.strictObject({ allocations: z.array(allocationSchema) }),
    errors: captureErrors,
    violations: captureReferences,
  }),
  refund: defineRoute({
    id: 'checkout_sessions.refund',
    summary: 'Refund a captured checkout session, in whole or part',
    method: 'POST',
    path: `${path}/refund`,
    params,
    scope: 'checkout_sessions_write',
    owner: 'refunds',
    body: { envelope: 'checkout_session', optional: true, schema: refundInstruction },
    response: oneOf('checkout_session'),
    expansion,
    idempotency: 'strict',
    errors: [...refundErrors, 'processor_not_configured'],
    violations: refundReferences,
  }),
  previewRefund: defineRoute({
    id: 'checkout_sessions.preview_refund',
    summary: "Show how a refund would be split over the session's cards",
    method: 'POST',
    path: `${path}/refund_allocation`,
    params,
    scope: 'checkout_sessions_read',
    owner: 'refunds',
    body: { envelope: 'checkout_session', optional: true, schema: refundInstruction },
    response: z.strictObject({ allocations: z.array(allocationSchema) }),
    errors: refundErrors,
    violations: refundReferences,
  }),
  cancel: defineRoute({
    id: 'checkout_sessions.cancel',
    summary: 'Cancel a checkout session and release its holds',
    method: 'POST',
    path: `${path}/cancel`,
    params,
    scope: 'checkout_sessions_write',
    owner: 'checkout',
    response: oneOf('checkout_session'),
    expansion,
    errors: ['checkout_session_already_processed', 'checkout_session_expired', 'checkout_session_canceled'],
  }),
  expire: defineRoute({
    id: 'checkout_sessions.expire',
    summary: 'Expire an open checkout session',
    method: 'POST',
    path: `${path}/expire`,
    params,
    scope: 'checkout_sessions_write',
    owner: 'checkout',
    response: oneOf('checkout_session'),
    expansion,
    errors: ['checkout_session_not_open'],
  }),
};
