import { z } from 'zod';
import { listOf, oneOf } from '../answers.ts';
import { listQuery, queryReference } from '../query.ts';
import { defineRoute } from '../route.ts';

const params = { id: 'receipt' } as const;

export const receiptRoutes = {
  list: defineRoute({
    id: 'receipts.list',
    summary: 'List receipts, newest first',
    method: 'GET',
    path: '/v1/receipts',
    scope: 'receipts_read',
    owner: 'billing',
    query: listQuery('receipt', {
      checkout_session: queryReference('checkout_session').optional(),
      subscription: queryReference('subscription').optional(),
      refund: queryReference('refund').optional(),
    }),
    response: listOf('receipt'),
    violations: ['checkout_session_not_found', 'subscription_not_found', 'refund_not_found'],
  }),
  get: defineRoute({
    id: 'receipts.get',
    summary: 'Read a receipt',
    method: 'GET',
    path: '/v1/receipts/{id}',
    params,
    scope: 'receipts_read',
    owner: 'billing',
    response: oneOf('receipt'),
  }),
  getDocument: defineRoute({
    id: 'receipts.get_document',
    summary: 'Read the documents of a receipt: HTML, and a PDF in base64',
    method: 'GET',
    path: '/v1/receipts/{id}/document',
    params,
    scope: 'receipts_read',
    owner: 'billing',
    response: z.strictObject({ receipt_document: z.strictObject({ html: z.string(), pdf: z.base64() }) }),
  }),
};
