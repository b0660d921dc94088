import { z } from 'zod';
import { listOf, oneOf } from '../answers.ts';
import { url } from '../fields.ts';
import { limits } from '../limits.ts';
import { listQuery, queryText } from '../query.ts';
import { defineRoute } from '../route.ts';
import { publicEventTypes } from '../webhook-events.ts';

const params = { id: 'webhook_endpoint' } as const;
const events = z
  .array(z.enum(['*', ...publicEventTypes]))
  .min(1)
  .max(limits.webhookEvents);

export const webhookRoutes = {
  list: defineRoute({
    id: 'webhooks.list',
    summary: 'List webhook endpoints, newest first',
    method: 'GET',
    path: '/v1/webhooks',
    scope: 'webhooks_read',
    owner: 'webhooks',
    query: listQuery('webhook_endpoint', {}),
    response: listOf('webhook'),
  }),
  create: defineRoute({
    id: 'webhooks.create',
    summary: 'Register a webhook endpoint',
    method: 'POST',
    path: '/v1/webhooks',
    scope: 'webhooks_write',
    owner: 'webhooks',
    body: { envelope: 'webhook', schema: z.object({ url, events }) },
    response: oneOf('webhook'),
    errors: ['conflict'],
    violations: ['webhook_url_not_allowed'],
  }),
  get: defineRoute({
    id: 'webhooks.get',
    summary: 'Read a webhook endpoint',
    method: 'GET',
    path: '/v1/webhooks/{id}',
    params,
    scope: 'webhooks_read',
    owner: 'webhooks',
    response: oneOf('webhook'),
  }),
  update: defineRoute({
    id: 'webhooks.update',
    summary: 'Update a webhook endpoint; one that is disabled is enabled again',
    method: 'POST',
    path: '/v1/webhooks/{id}',
    params,
    scope: 'webhooks_write',
    owner: 'webhooks',
    body: { envelope: 'webhook', schema: z.object({ url: url.optional(), events: events.optional() }) },
    response: oneOf('webhook'),
    violations: ['webhook_url_not_allowed'],
  }),
  delete: defineRoute({
    id: 'webhooks.delete',
    summary: 'Delete a webhook endpoint',
    method: 'DELETE',
    path: '/v1/webhooks/{id}',
    params,
    scope: 'webhooks_write',
    owner: 'webhooks',
    response: oneOf('webhook'),
  }),
  roll: defineRoute({
    id: 'webhooks.roll',
    summary: 'Roll the signing secret; the old secret also signs for 24 hours',
    method: 'POST',
    path: '/v1/webhooks/{id}/roll',
    params,
    scope: 'webhooks_write',
    owner: 'webhooks',
    response: oneOf('webhook'),
  }),
  test: defineRoute({
    id: 'webhooks.test',
    summary: 'Send a test event to a webhook endpoint',
    method: 'POST',
    path: '/v1/webhooks/{id}/test',
    params,
    scope: 'webhooks_write',
    owner: 'webhooks',
    response: oneOf('delivery'),
    errors: ['conflict'],
  }),
  listDeliveries: defineRoute({
    id: 'webhooks.list_deliveries',
    summary: 'List the deliveries of a webhook endpoint, newest first',
    method: 'GET',
    path: '/v1/webhooks/{id}/deliveries',
    params,
    scope: 'webhooks_read',
    owner: 'webhooks',
    query: listQuery('delivery', {}),
    response: listOf('delivery'),
  }),
};

export const eventRoutes = {
  list: defineRoute({
    id: 'events.list',
    summary: 'List events, newest first',
    method: 'GET',
    path: '/v1/events',
    scope: 'events_read',
    owner: 'webhooks',
    query: listQuery('event', { event_type: queryText.optional() }),
    response: listOf('event'),
  }),
  get: defineRoute({
    id: 'events.get',
    summary: 'Read an event',
    method: 'GET',
    path: '/v1/events/{id}',
    params: { id: 'event' },
    scope: 'events_read',
    owner: 'webhooks',
    response: oneOf('event'),
  }),
  retry: defineRoute({
    id: 'events.retry',
    summary: 'Redeliver an event',
    method: 'POST',
    path: '/v1/events/{id}/retry',
    params: { id: 'event' },
    scope: 'events_write',
    owner: 'webhooks',
    response: oneOf('event'),
  }),
};
