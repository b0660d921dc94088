import { evidenceFileFields, isId } from '@eligo/values';
import { z } from 'zod';
import { expansionOfRecord, listOf, oneOf } from '../answers.ts';
import { metadata, text } from '../fields.ts';
import { limits } from '../limits.ts';
import { listQuery, queryReference } from '../query.ts';
import { defineRoute } from '../route.ts';

const params = { id: 'dispute' } as const;

/** The fields of evidence that are texts, by the processor's names. */
export const evidenceFields = [
  ...(['access_activity_log', 'billing_address', 'cancellation_policy_disclosure', 'cancellation_rebuttal'] as const),
  ...(['customer_email_address', 'customer_name', 'customer_purchase_ip', 'duplicate_charge_explanation'] as const),
  ...([
    'duplicate_charge_id',
    'product_description',
    'refund_policy_disclosure',
    'refund_refusal_explanation',
  ] as const),
  ...(['service_date', 'shipping_address', 'shipping_carrier', 'shipping_date', 'shipping_tracking_number'] as const),
  'uncategorized_text',
] as const;

const evidenceText = text(limits.evidenceTextLength).optional();
const evidenceFile = z
  .string()
  .refine((text) => text === '' || isId('file', text), { error: 'file_not_found', params: { type: 'file_not_found' } })
  .meta({ description: 'Identifier of a file; an empty text clears the field.' })
  .optional();
const evidence = z
  .object({
    ...Object.fromEntries(evidenceFields.map((field) => [field, evidenceText])),
    ...Object.fromEntries(evidenceFileFields.map((field) => [field, evidenceFile])),
  })
  .refine(
    (fields) => evidenceFields.reduce((sum, field) => sum + (fields[field]?.length ?? 0), 0) <= limits.evidenceLength,
    {
      error: `Must have at most ${limits.evidenceLength} characters together`,
      params: { type: 'too_long' },
    },
  );

const expansion = expansionOfRecord('dispute');

export const disputeRoutes = {
  list: defineRoute({
    id: 'disputes.list',
    summary: 'List disputes, newest first',
    method: 'GET',
    path: '/v1/disputes',
    scope: 'disputes_read',
    owner: 'refunds',
    query: listQuery('dispute', {
      payment_intent: queryReference('payment_intent').optional(),
      charge: queryReference('charge').optional(),
      checkout_session: queryReference('checkout_session').optional(),
    }),
    response: listOf('dispute'),
    expansion,
    violations: ['payment_intent_not_found', 'charge_not_found', 'checkout_session_not_found'],
  }),
  get: defineRoute({
    id: 'disputes.get',
    summary: 'Read a dispute',
    method: 'GET',
    path: '/v1/disputes/{id}',
    params,
    scope: 'disputes_read',
    owner: 'refunds',
    response: oneOf('dispute'),
    expansion,
  }),
  update: defineRoute({
    id: 'disputes.update',
    summary: 'Give evidence, submit it, and set the metadata of a dispute',
    method: 'POST',
    path: '/v1/disputes/{id}',
    params,
    scope: 'disputes_write',
    owner: 'refunds',
    body: {
      envelope: 'dispute',
      schema: z.object({
        evidence: evidence.optional(),
        submit: z.boolean().optional(),
        metadata: metadata.optional(),
      }),
    },
    response: oneOf('dispute'),
    expansion,
    errors: ['dispute_not_open', 'processor_not_configured', 'too_many_file_transfers'],
    violations: ['file_not_found'],
  }),
  close: defineRoute({
    id: 'disputes.close',
    summary: 'Accept that a dispute is lost',
    method: 'POST',
    path: '/v1/disputes/{id}/close',
    params,
    scope: 'disputes_write',
    owner: 'refunds',
    response: oneOf('dispute'),
    expansion,
    errors: ['dispute_not_open', 'processor_not_configured'],
  }),
};
