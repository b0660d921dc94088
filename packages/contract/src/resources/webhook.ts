import type { Delivery, Endpoint, PublicEvent } from '@eligo/proto/webhooks/v1/webhooks';
import { z } from 'zod';
import { answer, idOf } from '../fields.ts';
import { isoTime } from '../times.ts';

export const webhookSchema = z.strictObject({
  webhook_id: idOf('webhook_endpoint'),
  url: z.string(),
  events: z.array(z.string()),
  status: z.enum(['enabled', 'disabled']),
  signing_secret: z.string().optional(),
  test_mode: z.boolean(),
  created_at: answer.time,
  deleted: z.literal(true).optional(),
});

export const deliverySchema = z.strictObject({
  delivery_id: idOf('delivery'),
  webhook: idOf('webhook_endpoint'),
  event: idOf('event'),
  event_type: z.string(),
  status: z.enum(['pending', 'succeeded', 'failed', 'exhausted']),
  attempts: z.int(),
  next_attempt_at: answer.time.nullable(),
  last_response_status: z.int().nullable(),
  last_error: answer.text,
  delivered_at: answer.time.nullable(),
  test_mode: z.boolean(),
  created_at: answer.time,
});

export const eventSchema = z.strictObject({
  event_id: idOf('event'),
  event_type: z.string(),
  object: z.record(z.string(), z.record(z.string(), z.unknown())),
  event_dt: answer.unixTime,
  test_mode: z.boolean(),
  created_at: answer.time,
});

/** The signing secret is shown at creation and roll only: other messages do not carry it (decisions 4). */
export function renderWebhook(endpoint: Endpoint): z.infer<typeof webhookSchema> {
  return {
    webhook_id: endpoint.webhookId,
    url: endpoint.url,
    events: endpoint.events,
    status: endpoint.status as 'enabled' | 'disabled',
    ...(endpoint.signingSecret === undefined ? {} : { signing_secret: endpoint.signingSecret }),
    test_mode: endpoint.testMode,
    created_at: isoTime(endpoint.createdAtMs),
    ...(endpoint.deleted ? { deleted: true as const } : {}),
  };
}

export function renderDelivery(delivery: Delivery): z.infer<typeof deliverySchema> {
  return {
    delivery_id: delivery.deliveryId,
    webhook: delivery.webhookId,
    event: delivery.eventId,
    event_type: delivery.eventType,
    status: delivery.status as z.infer<typeof deliverySchema>['status'],
    attempts: delivery.attempts,
    next_attempt_at: delivery.nextAttemptAtMs === undefined ? null : isoTime(delivery.nextAttemptAtMs),
    last_response_status: delivery.lastResponseStatus ?? null,
    last_error: delivery.lastError ?? null,
    delivered_at: delivery.deliveredAtMs === undefined ? null : isoTime(delivery.deliveredAtMs),
    test_mode: delivery.testMode,
    created_at: isoTime(delivery.createdAtMs),
  };
}

/** An event is its body as it was delivered: bytes fixed when it was made. */
export function renderPublicEvent(event: PublicEvent): z.infer<typeof eventSchema> {
  return JSON.parse(Buffer.from(event.body).toString('utf8'));
}
